"""Copies from pinned memory: seen by their number."""

from __future__ import annotations

import pytest

from tailwave.cures.catalogue.async_copy import AsyncCopyCure
from tailwave.errors import UsageError
from tests.cures.catalogue.cases import NO_PYTHON, PLAIN, UNENTERED, acted, only_task, unseen

CURE = AsyncCopyCure()


def test_it_asks_the_hook() -> None:
    """It takes no parameter."""
    assert CURE.parameters(PLAIN) == ("",)
    assert only_task(CURE, "") == {}
    with pytest.raises(UsageError, match="takes no parameter"):
        CURE.treatment("1", PLAIN)
    assert CURE.why_not("", NO_PYTHON) == UNENTERED


def test_it_is_seen_by_the_copies() -> None:
    """A loader that pins and is never copied from is not at work."""
    assert CURE.mechanism("", [acted("async-copy", loaders=1, copies=1)]) == (
        True,
        "1 copy was made from pinned memory.",
    )
    assert CURE.mechanism("", [acted("async-copy", loaders=1, copies=1500)]) == (
        True,
        "1,500 copies were made from pinned memory.",
    )
    assert CURE.mechanism("", [acted("async-copy", loaders=1)]) == (
        False,
        "No copy was made from pinned memory.",
    )
    unseen(CURE)


def test_it_is_kept_by_two_lines() -> None:
    """Where the batch is made, and where it is copied."""
    assert CURE.lines("") == (
        "DataLoader(..., pin_memory=True)",
        'batch = batch.to("cuda", non_blocking=True)',
    )
