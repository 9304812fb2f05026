"""Pages of managed memory in a program, and moved ahead of use."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tailwave.recordings.replay.engine import run
from tailwave.recordings.replay.pages import prefetch_pages
from tailwave.recordings.replay.recorded import compile_program
from tailwave.recordings.timeline.migrations import migrations
from tests.builders import Trace, copy, kernel
from tests.recordings.paging import FAULTS, SIZE, TO_GPU, TO_HOST, marked, nsys
from tests.recordings.replay.programs import case_of, forecast_of


def reading(trace: Trace) -> None:
    """A kernel of 1,000 us that waits for pages for 500; then the host, for 200 of 990."""
    trace.launch(0, 4, kernel("k", 5, 1_005))
    trace.call("cudaDeviceSynchronize", 10, 1_010)
    trace.call("cudaGetDevice", 1_999, 2_000)
    for page in range(10):
        at = 10 + 60 * page
        trace.unlaunched(copy(TO_GPU, at, at + 50, stream=0, size=SIZE))
        trace.unlaunched(copy(TO_HOST, 1_100 + at, 1_120 + at, stream=0, size=SIZE))


def test_pages_change_nothing_in_the_recorded_run() -> None:
    """Their time is that of the kernel and the host."""
    likely = forecast_of(marked(2_000, reading))
    assert likely.identity_error == 0
    assert likely.now.us == 2_000


def test_kernel_and_host_lose_the_time_in_which_pages_moved() -> None:
    """500 us of the kernel and 200 of the host; the link needs 100 us each way, beside them."""
    outlook = forecast_of(marked(2_000, reading)).after(prefetch_pages)
    assert outlook.step_us == pytest.approx(1_300, abs=0.1)
    assert outlook.notes == (
        "link speed 55 GB/s",
        "what faults of GPU and host cost beyond the moves is not recorded, and would be saved too",
    )


def test_faults_that_were_recorded_are_saved_whole() -> None:
    """A fault holds the kernel longer than its page moves; only the host's are still unknown."""

    def body(trace: Trace) -> None:
        trace.launch(0, 4, kernel("k", 5, 1_005))
        trace.unlaunched(copy(FAULTS, 100, 400, stream=-1))
        trace.unlaunched(copy(TO_GPU, 350, 400, stream=0, size=SIZE))
        trace.call("cudaDeviceSynchronize", 10, 1_010)

    outlook = forecast_of(marked(1_010, body)).after(prefetch_pages)
    assert outlook.step_us == pytest.approx(710, abs=0.1)
    assert outlook.notes[1].startswith("what faults of the host cost")


def test_no_step_is_shorter_than_its_bytes_need() -> None:
    """Pages of 44 MB need 800 us of the link, however little else there is."""

    def body(trace: Trace) -> None:
        trace.launch(0, 4, kernel("k", 5, 1_005))
        trace.unlaunched(copy(TO_GPU, 5, 1_000, stream=0, size=44_000_000))
        trace.call("cudaDeviceSynchronize", 10, 1_010)

    outlook = forecast_of(marked(1_010, body)).after(prefetch_pages)
    assert outlook.step_us == pytest.approx(800, abs=0.1)


@pytest.mark.parametrize("why", ["prefetched", "evicted"])
def test_pages_that_nobody_touched_stay(why: str) -> None:
    """What was asked for, and what had no room, no prefetch takes away."""

    def body(trace: Trace) -> None:
        trace.launch(0, 4, kernel("k", 5, 1_005))
        trace.unlaunched(copy(f"Memcpy HtoD (managed, {why})", 100, 400, stream=0, size=SIZE))
        trace.call("cudaDeviceSynchronize", 10, 1_010)

    case = case_of(marked(1_010, body))
    before = compile_program(case)
    changed = prefetch_pages(case, before)
    assert changed.program is before
    assert changed.notes == ("no page of managed memory moved because it was touched",)


def test_pages_keep_a_step_from_being_shorter_whatever_else_is_cured() -> None:
    """A host that reads 300 us of pages cannot be done before they have come."""

    def body(trace: Trace) -> None:
        trace.launch(0, 4, kernel("k", 5, 105))
        trace.unlaunched(copy(TO_HOST, 500, 800, stream=0, size=SIZE))

    case = case_of(marked(2_000, body))
    program = compile_program(case)
    idle = replace(program, work=program.work * 0, hold=program.hold * 0)
    assert run(idle).step_us == 300


def test_a_recording_of_the_gpu_alone_is_changed() -> None:
    """Without a host, kernels lose what pages took."""
    trace = Trace()
    for number in range(4):
        trace.unlaunched(kernel("k", 200 * number, 200 * number + 100))
        trace.unlaunched(copy(TO_GPU, 200 * number + 10, 200 * number + 60, stream=0, size=SIZE))
    case = case_of(nsys(trace.build()))
    changed = prefetch_pages(case, compile_program(case)).program
    kernels = case.timeline.gpu.kind[changed.row] == 0
    assert changed.duration[kernels].tolist() == [50_000] * 4


pages = st.lists(
    st.tuples(
        st.sampled_from([TO_GPU, TO_HOST, FAULTS, "Memcpy DtoH (managed, evicted)"]),
        st.integers(0, 900),
        st.integers(1, 90),
        st.integers(0, 10 * SIZE),
    ),
    max_size=12,
)


@given(each=st.lists(pages, min_size=1, max_size=4), kernel_us=st.integers(1, 900))
def test_wherever_pages_move_the_recording_is_given_back(
    each: list[list[tuple[str, int, int, int]]], kernel_us: int
) -> None:
    """Unchanged, a run is the recording; changed, it is no longer, and no shorter than the link."""
    trace = Trace()
    for number, moved in enumerate(each):
        trace.at(1_000 * number).step(0, 1_000, number)
        trace.launch(0, 4, kernel("k", 5, 5 + kernel_us))
        trace.call("cudaDeviceSynchronize", 6, 6 + kernel_us)
        for name, at, took, size in moved:
            trace.unlaunched(copy(name, at, at + took, stream=0, size=size))
    case = case_of(nsys(trace.build()))
    program = compile_program(case)
    recorded = run(program)
    assert recorded.step.tolist() == case.steps.duration.tolist()
    changed = prefetch_pages(case, program).program
    assert run(changed).step_us <= recorded.step_us
    assert (np.diff(changed.lane) >= 0).all()
    touched = migrations(case.timeline, "touched")[changed.row]
    moving = changed.duration[touched]
    assert (run(changed).step.sum() if len(moving) else 0) >= moving.max(initial=0)
