"""Pages of managed memory on the move."""

from __future__ import annotations

from tailwave.recordings.timeline.launches import issued
from tailwave.recordings.timeline.migrations import launched, migrations
from tailwave.recordings.timeline.quality import assess
from tailwave.recordings.timeline.steps import find_steps
from tests.builders import PAGEABLE_HTOD, Trace, copy, kernel

TOUCHED = "Memcpy HtoD (managed)"
PREFETCHED = "Memcpy HtoD (managed, prefetched)"


def paging() -> Trace:
    """Two steps of a kernel, before which pages were asked for and during which pages come."""
    trace = Trace()
    for number in range(2):
        trace.at(100 * number).step(0, 100, number)
        trace.launch(0, 4, kernel("foo(managed)", 10, 60))
        trace.unlaunched(
            copy(PREFETCHED, 5, 9, stream=0, size=8192),
            copy(TOUCHED, 20, 30, stream=0, size=4096),
            copy("GPU page faults (managed)", 15, 35, stream=-1),
        )
    return trace


def test_pages_are_told_from_copies_and_kernels() -> None:
    """By their names, and why they moved too; a kernel's name says nothing."""
    timeline = paging().launch(70, 74, copy(PAGEABLE_HTOD, 75, 80), call="cudaMemcpyAsync").build()
    own, kept = launched(timeline)
    assert (int(migrations(timeline).sum()), int(migrations(timeline, "touched").sum())) == (6, 4)
    assert int(migrations(timeline, "prefetched").sum()) == 2
    assert [timeline.names[code] for code in own.gpu.name] == [
        "foo(managed)",
        "foo(managed)",
        PAGEABLE_HTOD,
    ]
    assert (timeline.gpu.start[kept] == own.gpu.start).all()


def test_a_timeline_without_pages_stays() -> None:
    """No copy of its columns is made."""
    timeline = Trace().launch(0, 4, kernel("k", 5, 10)).build()
    assert launched(timeline)[0] is timeline


def test_pages_are_of_the_step_in_which_they_move() -> None:
    """Nobody launched them, so they are issued when they begin."""
    timeline = paging().build()
    pages = migrations(timeline)
    assert (issued(timeline)[pages] == timeline.gpu.start[pages]).all()
    assert find_steps(timeline).gpu_step.tolist() == [0] * 4 + [1] * 4


def test_pages_without_a_launch_are_sound() -> None:
    """No recorder says who launched them, and they may overlap: no doubt, no note."""
    timeline = paging().build()
    quality = assess(timeline, find_steps(timeline))
    assert (quality.notes, quality.host_is_sound, quality.gpu_is_sound) == ((), True, True)
