"""A stream that goes first: named, or the one that the program works in."""

from __future__ import annotations

from tailwave.cures.catalogue.base import Setting
from tailwave.cures.catalogue.stream_priority import StreamPriorityCure
from tests.cures.catalogue.cases import NO_PYTHON, PLAIN, UNENTERED, acted, only_task, unseen

CURE = StreamPriorityCure()

_NAMED = Setting(environment={}, streams=("decoder", "encoder"))


def test_it_asks_the_hook() -> None:
    """Each named stream, else the current one."""
    assert CURE.parameters(PLAIN) == ("",)
    assert CURE.parameters(_NAMED) == ("decoder", "encoder")
    wanted = {"stream": "decoder", "priority": "high"}
    assert only_task(CURE, "decoder", _NAMED) == wanted
    assert only_task(CURE, "") == {"stream": "", "priority": "high"}


def test_a_stream_that_there_is_not_is_told() -> None:
    """With the line that names it."""
    assert 'tailwave.stream("vae")' in CURE.why_not("vae", _NAMED)
    assert CURE.why_not("decoder", _NAMED) == ""
    assert CURE.why_not("", NO_PYTHON) == UNENTERED


def test_it_is_seen_by_the_streams_number() -> None:
    """Below 0 is high, as CUDA counts."""
    assert CURE.mechanism("", [acted("stream-priority", priority=-1)]) == (
        True,
        "The work went to a stream of priority -1.",
    )
    assert CURE.mechanism("", [acted("stream-priority", priority=0)]) == (
        False,
        "No work went to a stream of high priority.",
    )
    unseen(CURE)


def test_it_is_kept_by_the_library() -> None:
    """The named stream is the program's own already."""
    assert CURE.lines("")[0] == "import tailwave"
