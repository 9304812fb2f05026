"""A variable of the user's own."""

from __future__ import annotations

import pytest

from tailwave.errors import UsageError
from tailwave.remedies import env
from tailwave.remedies.base import Change, Setting
from tests.remedies.cases import PLAIN


def test_it_sets_the_variable() -> None:
    """The value may hold anything, also an equals sign, or nothing."""
    assert env.change("CUDA_LAUNCH_BLOCKING=1", PLAIN) == Change({"CUDA_LAUNCH_BLOCKING": "1"})
    assert env.change("A_1=b=c:d", PLAIN) == Change({"A_1": "b=c:d"})
    assert env.change("A=", PLAIN) == Change({"A": ""})


@pytest.mark.parametrize("parameter", ["", "A", "=1", "1A=1", "A B=1"])
def test_what_is_no_variable_is_a_usage_error(parameter: str) -> None:
    """The sentence shows how it is written."""
    with pytest.raises(UsageError, match="takes NAME=VALUE"):
        env.change(parameter, PLAIN)


def test_it_is_never_guessed_and_not_tried_twice() -> None:
    """A value that is set already is a second null control."""
    assert env.parameters(PLAIN) == ()
    assert env.why_not("A=1", PLAIN) == ""
    assert (
        env.why_not("A=1", Setting(environment={"A": "1"})) == "The program already runs with A=1."
    )


def test_it_cannot_be_seen_and_is_kept_by_a_quoted_line() -> None:
    """The shell gets the value that was tried."""
    assert env.seen("A=1", []) == (None, "A=1 was set; what it does is not reported.")
    assert env.lines("A=b c") == ("export A='b c'",)
