"""How the host waits: asked of the hook, read back from the context."""

from __future__ import annotations

import pytest

from tailwave.cures.catalogue.host_wait import HostWaitCure
from tailwave.errors import UsageError
from tests.cures.catalogue.cases import NO_PYTHON, PLAIN, UNENTERED, acted, only_task, unseen

CURE = HostWaitCure()


def test_it_asks_the_hook() -> None:
    """Each policy can be asked for."""
    assert CURE.parameters(PLAIN) == ("block", "yield", "spin")
    assert only_task(CURE, "spin") == {"policy": "spin"}


def test_an_unknown_policy_is_a_usage_error() -> None:
    """The sentence names those there are."""
    with pytest.raises(UsageError, match="takes block, yield, spin"):
        CURE.treatment("sleep", PLAIN)


def test_it_is_seen_by_the_flags() -> None:
    """Other flags, no report and a refusal are told apart."""
    assert CURE.mechanism("block", [acted("host-wait", policy="block")]) == (
        True,
        "The context's flags say that the host waits by block.",
    )
    assert CURE.mechanism("block", [acted("host-wait", policy="spin")]) == (
        False,
        "The context's flags do not say block.",
    )
    unseen(CURE, "block")


def test_it_needs_python() -> None:
    """The hook enters nothing else."""
    assert CURE.why_not("spin", NO_PYTHON) == UNENTERED
    assert CURE.why_not("spin", PLAIN) == ""
