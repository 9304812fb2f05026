"""SMs that matrix products leave alone: named by the user, never chosen."""

from __future__ import annotations

import pytest

from tailwave.cures.catalogue.sm_carveout import SmCarveoutCure
from tailwave.errors import UsageError
from tests.cures.catalogue.cases import NO_PYTHON, PLAIN, UNENTERED, acted, only_task, unseen

CURE = SmCarveoutCure()


def test_it_asks_the_hook() -> None:
    """For a number that only the user knows."""
    assert CURE.parameters(PLAIN) == ()
    assert only_task(CURE, "16") == {"sms": 16}
    with pytest.raises(UsageError, match="whole number from 1"):
        CURE.treatment("", PLAIN)
    assert CURE.why_not("16", NO_PYTHON) == UNENTERED


def test_it_is_seen_by_what_pytorch_gives_back() -> None:
    """Another number is not what was set."""
    assert CURE.mechanism("16", [acted("sm-carveout", sms=16)]) == (
        True,
        "PyTorch plans its products without 16 SMs.",
    )
    assert CURE.mechanism("16", [acted("sm-carveout", sms=0)]).works is False
    unseen(CURE, "16")


def test_it_is_kept_by_a_private_call() -> None:
    """PyTorch has no other."""
    assert CURE.lines("16") == ("torch._C._set_sm_carveout_experimental(16)",)
