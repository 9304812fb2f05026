"""Priorities are the ends of the driver's range."""

from __future__ import annotations

import pytest

import tailwave
from tailwave.errors import UnavailableError, UsageError
from tests.cures.library.fakes import Cuda, installed


@pytest.mark.parametrize(("level", "number"), [("high", -5), ("low", 0)])
def test_a_level_is_an_end_of_the_range(cuda: Cuda, level: str, number: int) -> None:
    """The driver's greatest priority is its lowest number."""
    with tailwave.priority(level) as stream:
        assert stream.priority == cuda.streams[stream.handle].priority == number
    assert cuda.log == ["sync", "stream closed"]


def test_another_word_is_refused(cuda: Cuda) -> None:
    """The sentence says which there are."""
    del cuda
    with pytest.raises(UsageError, match="'high' or 'low', not 'highest'"):
        tailwave.priority("highest")


def test_a_gpu_without_priorities_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is the feature's own sentence."""
    installed(monkeypatch, Cuda(changes={"stream_priorities_supported": False}))
    with pytest.raises(UnavailableError, match="This GPU has no stream priorities"):
        tailwave.priority("high")
