"""What each GPU row waited for: its launch, its stream, or a row of another stream."""

from __future__ import annotations

from tailwave.model import Timeline
from tailwave.recordings.replay.engine import run
from tailwave.recordings.replay.program import Dependency
from tests.builders import Trace, kernel
from tests.recordings.replay.programs import case_of, program_of


def _held_and_joined() -> Timeline:
    """Rows that follow each other after 2 and 4 us, one held by another stream, and a join."""
    return (
        Trace()
        .step(0, 300)
        .launch(1, 2, kernel("a", 10, 40))
        .launch(3, 4, kernel("a", 42, 60))
        .launch(5, 6, kernel("a", 64, 80))
        .launch(7, 8, kernel("hog", 16, 150, stream=8))
        .launch(20, 21, kernel("held", 152, 160))
        .launch(155, 156, kernel("just in time", 168, 180))
        .call("cudaStreamWaitEvent", 200, 201)
        .launch(202, 203, kernel("joined", 211, 220, stream=8))
        .build()
    )


def test_what_was_not_binding_takes_the_usual_time() -> None:
    """The median gap of queued rows, 3 us, where a row waited for its launch or another stream.

    Neither the 72 us that a row was held by another stream nor the 8 us in which a launch arrived
    are the stream's own.
    """
    compiled = program_of(case_of(_held_and_joined()))
    a, second, third, hog, held, just, joined = range(7)
    assert compiled.gap[[second, third]].tolist() == [2_000, 4_000]
    assert compiled.gap[[held, just]].tolist() == [3_000, 3_000]
    assert compiled.latency[[a, hog, held, joined]].tolist() == [9_000] * 4
    assert compiled.latency[just] == 13_000
    assert compiled.dep[[held, joined]].tolist() == [hog, just]
    assert compiled.dep_lag[[held, joined]].tolist() == [2_000, 3_000]


def test_it_replays_to_itself() -> None:
    """What was binding gives each recorded start back."""
    timeline = _held_and_joined()
    compiled = program_of(case_of(timeline))
    assert run(compiled).start.tolist() == timeline.gpu.start[compiled.row].tolist()


def test_a_join_is_with_the_last_row_of_another_stream() -> None:
    """Of those issued before it on the same GPU."""
    timeline = (
        Trace()
        .step(0, 300)
        .launch(10, 12, kernel("first", 20, 30, stream=7))
        .launch(14, 16, kernel("last", 31, 40, stream=7))
        .launch(17, 18, kernel("elsewhere", 25, 35, stream=9, device=1))
        .launch(19, 19.5, kernel("own", 27, 37, stream=8))
        .launch(20, 20.5, kernel("own", 38, 39, stream=8))
        .call("cudaStreamWaitEvent", 21, 22)
        .launch(24, 26, kernel("joined", 45, 50, stream=8))
        .build()
    )
    compiled = program_of(case_of(timeline))
    names = [timeline.names[timeline.gpu.name[row]] for row in compiled.row]
    assert names[compiled.dep[names.index("joined")]] == "last"
    assert compiled.dep_kind[names.index("joined")] == Dependency.EVENT


def test_a_join_with_the_first_call_of_a_recording_counts() -> None:
    """Though no step had begun, and the other stream was done by then."""
    timeline = (
        Trace()
        .launch(1, 2, kernel("a", 10, 12, stream=7))
        .call("cudaStreamWaitEvent", 3, 4)
        .launch(5, 6, kernel("b", 14, 30, stream=8))
        .step(50, 100)
        .launch(60, 62, kernel("c", 70, 80, stream=8))
        .build()
    )
    assert program_of(case_of(timeline)).dep.tolist() == [-1, 0, -1]


def test_a_join_is_of_the_thread_that_asked_for_it() -> None:
    """Another thread's launches between the call and the next of its own have no part in it."""
    timeline = (
        Trace()
        .step(0, 400)
        .launch(10, 12, kernel("mine", 20, 100, stream=7))
        .call("cudaStreamWaitEvent", 30, 31)
        .launch(40, 42, kernel("joined", 150, 160, stream=9))
        .thread("other")
        .launch(15, 17, kernel("theirs", 25, 110, stream=8))
        .launch(33, 35, kernel("free", 120, 130, stream=10))
        .build()
    )
    compiled = program_of(case_of(timeline))
    names = [timeline.names[timeline.gpu.name[row]] for row in compiled.row]
    after = {name: names[dep] for name, dep in zip(names, compiled.dep, strict=True) if dep >= 0}
    assert after == {"joined": "mine", "free": "theirs"}


def test_a_join_that_nothing_follows_holds_nothing() -> None:
    """The recording ended before the stream that was made to wait had more to do."""
    timeline = (
        Trace()
        .step(0, 100)
        .launch(10, 12, kernel("a", 20, 30, stream=7))
        .launch(14, 16, kernel("b", 24, 34, stream=8))
        .call("cudaStreamWaitEvent", 21, 22)
        .build()
    )
    assert program_of(case_of(timeline)).dep.tolist() == [-1, -1]


def test_a_row_may_have_been_held_by_a_kernel_that_still_runs() -> None:
    """Where nothing ended just then: the last kernel to have started that runs beside it."""
    timeline = (
        Trace()
        .step(0, 400)
        .launch(1, 2, kernel("hog", 10, 300, stream=8))
        .launch(11, 12, kernel("over", 20, 30, stream=9))
        .launch(40, 42, kernel("held", 150, 160, stream=7))
        .build()
    )
    compiled = program_of(case_of(timeline))
    assert compiled.dep.tolist() == [-1, -1, 0]
    assert compiled.dep_kind[2] == Dependency.HOLDER
    assert compiled.dep_lag[2] == -150_000
