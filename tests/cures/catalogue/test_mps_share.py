"""A share of the SMs under a daemon of our own."""

from __future__ import annotations

import pytest

from tailwave.cures.catalogue.base import Setting, Treatment
from tailwave.cures.catalogue.mps_share import MpsShareCure
from tailwave.errors import UsageError
from tests.cures.catalogue.cases import PLAIN, reading

CURE = MpsShareCure()


def test_it_asks_for_a_daemon() -> None:
    """Half is the guess."""
    assert CURE.parameters(PLAIN) == ("50",)
    assert CURE.treatment("25", PLAIN) == Treatment(mps_percent=25)


@pytest.mark.parametrize("parameter", ["0", "101", "half"])
def test_what_is_no_percentage_is_a_usage_error(parameter: str) -> None:
    """From 1 to 100."""
    with pytest.raises(UsageError, match="whole number from 1 to 100"):
        CURE.treatment(parameter, PLAIN)


def test_it_is_tried_only_where_a_daemon_can_be_started() -> None:
    """The reason is the machine's."""
    assert CURE.why_not("50", Setting(environment={}, mps_why_not="No daemon.")) == "No daemon."
    assert CURE.why_not("50", PLAIN) == ""


def test_it_is_seen_by_what_the_driver_says() -> None:
    """Inside the program."""
    assert CURE.mechanism("50", [reading(mps=True)]).works is True
    assert CURE.mechanism("50", [reading(mps=False)]) == (
        False,
        "50% under MPS was set, yet inside the program it is False.",
    )
    assert CURE.mechanism("50", []).works is None


def test_it_is_kept_by_a_daemon_and_a_variable() -> None:
    """In that order."""
    assert CURE.lines("50") == (
        "nvidia-cuda-mps-control -d",
        "export CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50",
    )
