"""A debugger's setting, unset."""

from __future__ import annotations

import pytest

from tailwave.cures.catalogue import launch_blocking_off
from tailwave.cures.catalogue.base import Change, Setting
from tailwave.errors import UsageError

_SET = Setting(environment={"CUDA_LAUNCH_BLOCKING": "1"})


def test_it_unsets_the_variable() -> None:
    """And the line to keep says so."""
    assert launch_blocking_off.parameters(_SET) == ("",)
    assert launch_blocking_off.change("", _SET) == Change({"CUDA_LAUNCH_BLOCKING": None})
    assert launch_blocking_off.lines("") == ("unset CUDA_LAUNCH_BLOCKING",)


@pytest.mark.parametrize("environment", [{}, {"CUDA_LAUNCH_BLOCKING": "0"}])
def test_where_it_is_not_set_there_is_nothing_to_try(environment: dict[str, str]) -> None:
    """0 is not set, as CUDA has it."""
    setting = Setting(environment=environment)
    assert launch_blocking_off.parameters(setting) == ()
    assert launch_blocking_off.why_not("", setting) == (
        "CUDA_LAUNCH_BLOCKING is not set, so there is nothing to unset."
    )


def test_it_takes_no_parameter() -> None:
    """A value is a usage error."""
    with pytest.raises(UsageError, match="takes no parameter"):
        launch_blocking_off.change("0", _SET)


def test_it_cannot_be_seen_and_says_so() -> None:
    """Neither yes nor no."""
    assert launch_blocking_off.seen("", []).works is None
