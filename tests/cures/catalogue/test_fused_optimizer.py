"""A fused optimizer: seen where one was made, and is fused still."""

from __future__ import annotations

import pytest

from tailwave.cures.catalogue.fused_optimizer import FusedOptimizerCure
from tailwave.errors import UsageError
from tests.cures.catalogue.cases import NO_PYTHON, PLAIN, UNENTERED, acted, only_task, unseen

CURE = FusedOptimizerCure()


def test_it_asks_the_hook() -> None:
    """It takes no parameter."""
    assert CURE.parameters(PLAIN) == ("",)
    assert only_task(CURE, "") == {}
    with pytest.raises(UsageError, match="takes no parameter"):
        CURE.treatment("True", PLAIN)
    assert CURE.why_not("", NO_PYTHON) == UNENTERED


def test_it_is_seen_by_the_optimizers() -> None:
    """One that has ended was fused all the same."""
    living = acted("fused-optimizer", optimizers=1, fused=1, alive=1)
    ended = acted("fused-optimizer", optimizers=1, fused=0, alive=0)
    assert CURE.mechanism("", [living]) == (True, "1 optimizer was made with fused=True.")
    assert CURE.mechanism("", [living, ended]) == (
        True,
        "2 optimizers were made with fused=True.",
    )
    assert CURE.mechanism("", [ended]).works is True
    unseen(CURE)


def test_a_program_that_unset_it_again_is_told() -> None:
    """A checkpoint brings its own groups back."""
    undone = acted("fused-optimizer", optimizers=1, fused=0, alive=1)
    assert CURE.mechanism("", [undone]) == (
        False,
        "The program unset fused again, as a checkpoint does.",
    )


def test_it_is_kept_by_a_line() -> None:
    """Whatever the optimizer is."""
    assert "fused=True" in CURE.lines("")[0]
