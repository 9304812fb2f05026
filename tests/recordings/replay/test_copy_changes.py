"""Copies on streams of their own, in both directions, in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from tailwave.model import Timeline
from tailwave.recordings.replay.copy_changes import async_copy
from tailwave.recordings.replay.engine import Run, run
from tests.builders import PAGEABLE_DTOH, PAGEABLE_HTOD, Trace, copy, kernel, steps
from tests.recordings.replay.programs import case_of, program_of

# On an H200 the link moves 55 GB/s: 5,500,000 bytes in 100 us.
SIZE = 5_500_000
WAIT = "cudaStreamSynchronize"


def _after(timeline: Timeline) -> tuple[Run, tuple[str, ...]]:
    case = case_of(timeline)
    changed = async_copy(case, program_of(case))
    return run(changed.program), changed.notes


def _fed_by_copies(kernel_us: float, size: int = SIZE) -> Timeline:
    """Four steps of 2 ms: a copy of pageable memory holds the host 800 us, then a kernel runs."""

    def body(trace: Trace) -> None:
        moved = copy(PAGEABLE_HTOD, 20, 800, size=size)
        trace.launch(10, 810, moved, call="cudaMemcpyAsync")
        trace.launch(820, 824, kernel("gemm", 825, 825 + kernel_us))
        trace.call(WAIT, 830, 825 + kernel_us + 5)

    return steps(4, 2_000, body, Trace())


def test_small_copies_stay() -> None:
    """A copy below a mebibyte is no question of bandwidth: nothing changes, and why is said."""
    timeline = _fed_by_copies(400, size=4_096)
    case = case_of(timeline)
    before = program_of(case)
    changed = async_copy(case, before)
    assert changed.program is before
    assert changed.notes == ("no sizeable copy over the host link",)


@pytest.mark.parametrize(("size", "moved"), [((1 << 20) - 1, False), (1 << 20, True)])
def test_from_a_mebibyte_on_copies_move(size: int, *, moved: bool) -> None:
    """A copy of exactly a mebibyte is sizeable."""
    case = case_of(_fed_by_copies(400, size=size))
    assert (async_copy(case, program_of(case)).program.stream.max() > 0) == moved


def test_kernels_before_the_copy_do_not_wait_for_it() -> None:
    """Only what follows a step's copies in it can need what the step before copied."""

    def body(trace: Trace) -> None:
        trace.launch(0, 4, kernel("first", 5, 15))
        moved = copy(PAGEABLE_HTOD, 20, 800, size=SIZE)
        trace.launch(10, 810, moved, call="cudaMemcpyAsync")
        trace.launch(820, 824, kernel("gemm", 825, 925))

    case = case_of(steps(2, 1_000, body, Trace()))
    program = async_copy(case, program_of(case)).program
    assert program.dep.tolist() == [-1, -1, -1, -1, -1, 1]


def test_what_depends_on_another_row_keeps_its_dependency() -> None:
    """A kernel that waits for another stream's goes on waiting for that one."""

    def body(trace: Trace) -> None:
        moved = copy(PAGEABLE_HTOD, 20, 800, size=SIZE)
        trace.launch(10, 810, moved, call="cudaMemcpyAsync")
        trace.launch(820, 824, kernel("a", 825, 925, stream=7))
        trace.call("cudaStreamWaitEvent", 825, 826)
        trace.launch(830, 834, kernel("b", 927, 937, stream=8))

    case = case_of(steps(1, 1_000, body, Trace()))
    program = async_copy(case, program_of(case)).program
    assert program.dep.tolist() == [-1, 0, 1]


def test_copies_run_at_the_links_speed_on_a_stream_of_their_own() -> None:
    """A pageable copy becomes as fast as the link moves its bytes; the notes give the speed."""
    timeline = _fed_by_copies(400)
    case = case_of(timeline)
    before = program_of(case)
    changed = async_copy(case, before)
    copies, kernels = changed.program.duration[::2], changed.program.duration[1::2]
    assert copies.tolist() == [100_000] * 4
    assert kernels.tolist() == [400_000] * 4
    assert set(changed.program.stream[::2]).isdisjoint(set(before.stream))
    assert changed.notes == ("link speed 55 GB/s",)


def test_a_copy_never_gets_slower() -> None:
    """A copy that was faster than the link's typical speed keeps its time."""
    timeline = _fed_by_copies(400, size=100 * SIZE)
    case = case_of(timeline)
    assert async_copy(case, program_of(case)).program.duration[::2].tolist() == [780_000] * 4


def test_the_host_is_not_held_by_an_overlapped_copy() -> None:
    """The call returns as fast as the host's other calls, and the next kernel is issued at once."""
    result, _ = _after(_fed_by_copies(400))
    # Calls at 10 and, 4 us in it and 10 later, at 24; the kernel from 29 to 429, noticed at 434;
    # and the 770 us from there to the next step.
    assert result.step.tolist()[1:3] == [1_204_000] * 2


def test_a_step_bound_by_the_link_lasts_as_long_as_its_copy() -> None:
    """Where the copy takes longer than all else, a step takes the copy's time at link speed."""

    def body(trace: Trace) -> None:
        moved = copy(PAGEABLE_HTOD, 20, 4_800, size=20 * SIZE)
        trace.launch(10, 4_810, moved, call="cudaMemcpyAsync")
        trace.launch(4_820, 4_824, kernel("gemm", 4_825, 4_875))

    result, _ = _after(steps(4, 4_900, body, Trace()))
    assert result.step.tolist()[1:] == [2_000_000] * 3


def test_copies_to_the_gpu_follow_each_other_on_the_link() -> None:
    """The copies of all steps run one after the other, from the first step's beginning."""
    result, _ = _after(_fed_by_copies(400))
    assert np.diff(result.start[::2]).tolist() == [100_000] * 3


def test_kernels_wait_for_what_the_step_before_copied() -> None:
    """The first step's has its data already; the second's kernel waits for a slow first copy."""
    result, _ = _after(_fed_by_copies(400, size=20 * SIZE))
    copies, kernels = result.end[::2], result.start[1::2]
    assert kernels[0] < copies[0]
    assert (kernels[1:] >= copies[:-1]).all()


def test_a_single_step_waits_for_its_own_copies() -> None:
    """A program that is recorded as a whole has no step before it that could copy ahead."""

    def body(trace: Trace) -> None:
        moved = copy(PAGEABLE_HTOD, 20, 800, size=SIZE)
        trace.launch(10, 810, moved, call="cudaMemcpyAsync")
        trace.launch(820, 824, kernel("gemm", 825, 925))

    result, _ = _after(steps(1, 1_000, body, Trace()))
    assert result.start[1] == result.end[0]


def _fetching(count: int) -> Timeline:
    def body(trace: Trace) -> None:
        trace.launch(10, 14, kernel("gemm", 15, 115))
        moved = copy(PAGEABLE_DTOH, 120, 900, size=SIZE)
        trace.launch(20, 910, moved, call="cudaMemcpyAsync")
        trace.launch(920, 924, kernel("gemm", 925, 1_025))

    return steps(count, 1_100, body, Trace())


def test_a_single_step_fetches_what_it_made_itself() -> None:
    """The copy begins when the kernel has ended, and runs beside the kernels after it."""
    result, _ = _after(_fetching(1))
    first, back, second = range(3)
    assert result.start[back] == result.end[first] == 115_000
    assert result.end[back] == 215_000
    # The second kernel has long been issued; from kernel to kernel the stream needs 5 us.
    assert result.start[second] == 120_000


def test_a_step_fetches_what_the_step_before_made() -> None:
    """So the copy runs beside its kernels; what the first one fetches was there."""
    case = case_of(_fetching(2))
    program = async_copy(case, program_of(case)).program
    assert program.dep.tolist() == [-1, -1, -1, -1, 0, -1]


def test_nothing_waits_for_a_copy_back() -> None:
    """A wait for nothing but the copy is gone: its result is wanted a step later."""

    def body(trace: Trace) -> None:
        trace.launch(10, 14, kernel("gemm", 15, 115))
        moved = copy(PAGEABLE_DTOH, 120, 900, size=SIZE)
        trace.launch(20, 30, moved, call="cudaMemcpyAsync")
        trace.call(WAIT, 40, 905)

    case = case_of(steps(2, 1_000, body, Trace()))
    before = program_of(case)
    assert len(before.target_row) == 2
    assert len(async_copy(case, before).program.target_row) == 0


def test_copies_outside_the_steps_stay() -> None:
    """A copy that was launched before the first step keeps its stream and its time."""
    timeline = (
        Trace()
        .launch(0, 800, copy(PAGEABLE_HTOD, 10, 790, size=SIZE), call="cudaMemcpyAsync")
        .step(1_000, 1_100)
        .launch(1_010, 1_014, kernel("gemm", 1_015, 1_025))
        .build()
    )
    case = case_of(timeline)
    assert async_copy(case, program_of(case)).notes == ("no sizeable copy over the host link",)
