"""Copies from pinned memory: seen by their number."""

from __future__ import annotations

import pytest

from tailwave.cures.catalogue import pinned_copies
from tailwave.errors import UsageError
from tests.cures.catalogue.cases import NO_PYTHON, PLAIN, UNENTERED, acted, only_action, unseen


def test_it_asks_the_hook() -> None:
    """It takes no parameter."""
    assert pinned_copies.parameters(PLAIN) == ("",)
    assert only_action(pinned_copies, "") == {}
    with pytest.raises(UsageError, match="takes no parameter"):
        pinned_copies.change("1", PLAIN)
    assert pinned_copies.why_not("", NO_PYTHON) == UNENTERED


def test_it_is_seen_by_the_copies() -> None:
    """A loader that pins and is never copied from is not at work."""
    assert pinned_copies.seen("", [acted("pinned-copies", loaders=1, copies=1)]) == (
        True,
        "1 copy was made from pinned memory.",
    )
    assert pinned_copies.seen("", [acted("pinned-copies", loaders=1, copies=1500)]) == (
        True,
        "1,500 copies were made from pinned memory.",
    )
    assert pinned_copies.seen("", [acted("pinned-copies", loaders=1)]) == (
        False,
        "No copy was made from pinned memory.",
    )
    unseen(pinned_copies)


def test_it_is_kept_by_two_lines() -> None:
    """Where the batch is made, and where it is copied."""
    assert pinned_copies.lines("") == (
        "DataLoader(..., pin_memory=True)",
        'batch = batch.to("cuda", non_blocking=True)',
    )
