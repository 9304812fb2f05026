"""What ends with its `with`, and whose error a caller gets to see."""

from __future__ import annotations

import pytest

from tailwave.cures.library.closing import Closing
from tailwave.errors import UnavailableError


class Failing(Closing):
    """Counts how often it is closed; closing fails if it is told to."""

    def __init__(self, error: Exception | None = None) -> None:
        """Fail with this."""
        self.error, self.closed = error, 0

    def close(self) -> None:
        """Count, and fail."""
        self.closed += 1
        if self.error is not None:
            raise self.error


def test_it_is_closed_at_the_end_of_its_with() -> None:
    """The with gives the thing itself."""
    thing = Failing()
    with thing as given:
        assert (given, thing.closed) == (thing, 0)
    assert thing.closed == 1


def test_an_error_from_inside_is_seen_and_closes_it() -> None:
    """Also where closing fails then: what went wrong first is what matters."""
    for thing in (Failing(), Failing(UnavailableError("no GPU"))):
        with pytest.raises(KeyError, match="inside"), thing:
            raise KeyError("inside")
        assert thing.closed == 1


@pytest.mark.parametrize("error", [UnavailableError("no GPU"), ZeroDivisionError()])
def test_an_error_of_closing_is_seen(error: Exception) -> None:
    """Where nothing else went wrong."""
    with pytest.raises(type(error)), Failing(error):
        pass


def test_a_fault_of_our_own_in_closing_is_never_hidden() -> None:
    """Only what is said in one sentence gives way to what went wrong inside."""
    with pytest.raises(ZeroDivisionError), Failing(ZeroDivisionError()):
        raise KeyError
