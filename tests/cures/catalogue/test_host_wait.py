"""How the host waits: asked of the hook, read back from the context."""

from __future__ import annotations

import pytest

from tailwave.cures.catalogue import host_wait
from tailwave.errors import UsageError
from tests.cures.catalogue.cases import NO_PYTHON, PLAIN, UNENTERED, acted, only_action, unseen


def test_it_asks_the_hook() -> None:
    """Each policy can be asked for."""
    assert host_wait.parameters(PLAIN) == ("block", "yield", "spin")
    assert only_action(host_wait, "spin") == {"policy": "spin"}


def test_an_unknown_policy_is_a_usage_error() -> None:
    """The sentence names those there are."""
    with pytest.raises(UsageError, match="takes block, yield, spin"):
        host_wait.change("sleep", PLAIN)


def test_it_is_seen_by_the_flags() -> None:
    """Other flags, no report and a refusal are told apart."""
    assert host_wait.seen("block", [acted("host-wait", policy="block")]) == (
        True,
        "The context's flags say that the host waits by block.",
    )
    assert host_wait.seen("block", [acted("host-wait", policy="spin")]) == (
        False,
        "The context's flags do not say block.",
    )
    unseen(host_wait, "block")


def test_it_needs_python() -> None:
    """The hook enters nothing else."""
    assert host_wait.why_not("spin", NO_PYTHON) == UNENTERED
    assert host_wait.why_not("spin", PLAIN) == ""
