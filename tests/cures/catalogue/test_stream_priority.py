"""A stream that goes first: named, or the one that the program works in."""

from __future__ import annotations

from tailwave.cures.catalogue import stream_priority
from tailwave.cures.catalogue.base import Setting
from tests.cures.catalogue.cases import NO_PYTHON, PLAIN, UNENTERED, acted, only_action, unseen

_NAMED = Setting(environment={}, streams=("decoder", "encoder"))


def test_it_asks_the_hook() -> None:
    """Each named stream, else the current one."""
    assert stream_priority.parameters(PLAIN) == ("",)
    assert stream_priority.parameters(_NAMED) == ("decoder", "encoder")
    wanted = {"stream": "decoder", "priority": "high"}
    assert only_action(stream_priority, "decoder", _NAMED) == wanted
    assert only_action(stream_priority, "") == {"stream": "", "priority": "high"}


def test_a_stream_that_there_is_not_is_told() -> None:
    """With the line that names it."""
    assert 'tailwave.stream("vae")' in stream_priority.why_not("vae", _NAMED)
    assert stream_priority.why_not("decoder", _NAMED) == ""
    assert stream_priority.why_not("", NO_PYTHON) == UNENTERED


def test_it_is_seen_by_the_streams_number() -> None:
    """Below 0 is high, as CUDA counts."""
    assert stream_priority.seen("", [acted("stream-priority", priority=-1)]) == (
        True,
        "The work went to a stream of priority -1.",
    )
    assert stream_priority.seen("", [acted("stream-priority", priority=0)]) == (
        False,
        "No work went to a stream of high priority.",
    )
    unseen(stream_priority)


def test_it_is_kept_by_the_library() -> None:
    """The named stream is the program's own already."""
    assert stream_priority.lines("")[0] == "import tailwave"
