"""What-ifs on the GPU's side, in closed form on recordings of a few kernels."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from tailwave.model import Timeline
from tailwave.recordings.replay.change import Change, Changed, issues
from tailwave.recordings.replay.engine import run
from tailwave.recordings.replay.gpu_changes import (
    fuse,
    fused_optimizer,
    grid,
    isolated,
    merge_small_grids,
    partition_size,
    sm_count,
    spread,
    whole_warps,
)
from tailwave.recordings.replay.program import Dependency
from tests.builders import PINNED_DTOH, Trace, Work, copy, kernel
from tests.recordings.replay.programs import case_of, program_of

ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"
MUL = "void at::native::elementwise_kernel<128, 2, at::native::MulFunctor<float>>"


def _changed(timeline: Timeline, change: Change) -> Changed:
    case = case_of(timeline)
    return change(case, program_of(case))


def _one(work: Work) -> Timeline:
    """Record one kernel, launched 10 us into a step of 1 ms."""
    return Trace().step(0, 1_000).launch(10, 14, work).build()


def _row(*work: Work) -> Timeline:
    """Record kernels launched 10 us apart."""
    trace = Trace().step(0, 1_000)
    for number, item in enumerate(work):
        trace.launch(10 + 10 * number, 14 + 10 * number, item)
    return trace.build()


# So many bytes of shared memory leave room for one CTA on an SM.
ONE_AN_SM = 150_000


@pytest.mark.parametrize(("ctas", "lost"), [(132, 0), (133, 48_628), (264, 0), (265, 32_419)])
def test_whole_waves_lose_no_tail(ctas: int, lost: int) -> None:
    """A kernel of n waves, the last one part-filled, loses what that one leaves idle.

    Of 100 us 2 are no tail, since any kernel takes them: 133 CTAs in two waves of 132 lose
    98 * (1 - 133 / 264) us.
    """
    timeline = _one(kernel("gemm", 15, 115, grid=ctas, shared=ONE_AN_SM))
    assert _changed(timeline, grid).program.duration.tolist() == [100_000 - lost]


def test_small_grids_spread_over_every_sm() -> None:
    """Thirty-three CTAs of a quarter of the SMs would take a quarter of the time above 2 us."""
    timeline = _one(kernel("gemm", 15, 115, grid=33))
    assert _changed(timeline, spread).program.duration.tolist() == [100_000 - 73_500]


@pytest.mark.parametrize(("block", "kept"), [(4, 1 / 8), (33, 33 / 64), (64, 1)])
def test_whole_warps_take_as_many_as_hold_the_threads(block: int, kept: float) -> None:
    """Of 100 us 2 are any kernel's; the others shrink with the warps."""
    timeline = _one(kernel("insert", 15, 115, grid=132 * 32 * 100, block=block))
    expected = 2_000 + 98_000 * kept
    assert _changed(timeline, whole_warps).program.duration.tolist() == [
        pytest.approx(expected, abs=1)
    ]


def test_a_changed_kernel_loses_in_proportion() -> None:
    """Where another change has halved a kernel, its tail is half as long too."""
    timeline = _one(kernel("gemm", 15, 115, grid=133, shared=ONE_AN_SM))
    case = case_of(timeline)
    whole = program_of(case)
    half = msgspec.structs.replace(whole, duration=whole.duration // 2)
    tail = whole.duration - grid(case, whole).program.duration
    assert (half.duration - grid(case, half).program.duration).tolist() == (tail // 2).tolist()


def test_fewer_sms_stretch_each_kernel_by_its_regime() -> None:
    """By waves, persistent, unaffected: on half the SMs to the wave, by half, not at all."""
    timeline = _row(
        kernel("my_kernel", 15, 115, grid=1_320, shared=ONE_AN_SM),
        kernel("nvjet_tst_128x128", 120, 220, grid=132, shared=ONE_AN_SM),
        kernel("tiny", 225, 235, grid=10),
        copy(PINNED_DTOH, 240, 250, size=4),
    )
    changed = _changed(timeline, sm_count(66))
    assert changed.program.duration.tolist() == [200_000, 200_000, 10_000, 10_000]
    assert changed.notes == ("kernels: 1 by waves, 1 persistent, 1 unaffected",)


def test_one_sm_runs_one_wave_at_a_time() -> None:
    """On a single SM a grid of 264 CTAs, two an SM, takes 132 waves for one."""
    timeline = _one(kernel("my_kernel", 15, 115, grid=264, shared=100_000))
    assert _changed(timeline, sm_count(1)).program.duration.tolist() == [13_200_000]


def test_a_collective_does_not_scale() -> None:
    """A kernel that waits for other GPUs takes as long on any number of SMs."""
    timeline = _one(kernel("ncclDevKernel_AllReduce_Sum", 15, 115, grid=1_320))
    assert _changed(timeline, sm_count(66)).program.duration.tolist() == [100_000]


def test_without_the_gpus_properties_nothing_scales() -> None:
    """Where the recording does not describe its GPU, that is said instead."""
    timeline = Trace(devices=()).step(0, 99).launch(10, 14, kernel("k", 15, 20, grid=9)).build()
    changed = _changed(timeline, sm_count(66))
    assert changed.program.duration.tolist() == [5_000]
    assert changed.notes == ("the recording does not say how many SMs the GPU has",)


def _held_by_a_hog() -> Timeline:
    """Two streams that nothing joins: kernels of 10 us wait for a hog's 400 us to pass."""
    return (
        Trace()
        .step(0, 1_000)
        .launch(10, 14, kernel("mine", 15, 25, stream=7, grid=16))
        .launch(20, 24, kernel("hog", 26, 426, stream=8, grid=13_200, shared=ONE_AN_SM))
        .launch(30, 34, kernel("mine", 428, 438, stream=7, grid=16))
        .launch(440, 444, kernel("mine", 445, 455, stream=7, grid=16))
        .build()
    )


def test_an_isolated_stream_waits_for_nobodys_kernels() -> None:
    """On SMs of its own the delayed stream starts when its launches arrive."""
    changed = _changed(_held_by_a_hog(), isolated)
    result = run(changed.program)
    mine = changed.program.stream == changed.program.stream[0]
    assert result.start[mine].tolist() == [15_000, 35_000, 445_000]
    assert (changed.program.dep_kind == Dependency.HOLDER).sum() == 0
    assert changed.notes == ("8 SMs for stream 7, 124 for the others, whose kernels pay",)


def test_the_others_pay_for_an_isolated_stream() -> None:
    """Ten waves on 132 SMs are a hundred and seven for a hundred on 124."""
    program = _changed(_held_by_a_hog(), isolated).program
    assert program.duration.tolist()[1] == 400_000 * 107 // 100


def test_an_isolated_stream_of_wide_kernels_pays_too() -> None:
    """Sixteen CTAs on a partition of eight SMs still fit; what does not goes by its waves."""
    program = _changed(_held_by_a_hog(), isolated).program
    assert program.duration[program.stream == program.stream[0]].tolist() == [10_000] * 3


def test_an_isolated_kernel_wider_than_its_partition_goes_by_waves() -> None:
    """Ten waves on 132 SMs are 42 on the 32 of the largest partition."""
    timeline = (
        Trace()
        .step(0, 1_000)
        .launch(10, 14, kernel("wide", 15, 25, stream=7, grid=1_320, shared=ONE_AN_SM))
        .launch(20, 24, kernel("hog", 26, 426, stream=8, grid=13_200, shared=ONE_AN_SM))
        .launch(30, 34, kernel("wide", 428, 438, stream=7, grid=1_320, shared=ONE_AN_SM))
        .build()
    )
    program = _changed(timeline, isolated).program
    assert program.duration.tolist()[::2] == [42_000, 42_000]


def test_an_isolated_kernel_is_not_stretched_by_sharing() -> None:
    """A kernel that took longer beside another's takes what it takes alone."""
    timeline = (
        Trace()
        .step(0, 1_000)
        .launch(0, 4, kernel("mine", 5, 15, stream=7, grid=16))
        .launch(20, 24, kernel("hog", 26, 426, stream=8, grid=13_200, shared=ONE_AN_SM))
        .launch(30, 34, kernel("mine", 100, 140, stream=7, grid=16))
        .launch(440, 444, kernel("mine", 445, 455, stream=7, grid=16))
        .build()
    )
    program = _changed(timeline, isolated).program
    mine = program.stream == program.stream[0]
    assert program.duration[mine].tolist() == [10_000] * 3


def test_steps_end_with_the_isolated_streams_work() -> None:
    """What the others still run is their affair."""
    program = _changed(_held_by_a_hog(), isolated).program
    assert program.counts.tolist() == [True, False, True, True]


def test_a_single_stream_cannot_be_isolated() -> None:
    """Where no stream is held up, nothing changes, and that is said."""
    changed = _changed(_one(kernel("gemm", 15, 25, grid=9)), isolated)
    assert changed.notes == ("no stream is held up by another",)
    assert changed.program.counts.tolist() == [True]


def test_joined_streams_cannot_be_isolated() -> None:
    """Where the host makes one stream wait for the other, they are parts of one program."""
    trace = Trace().step(0, 1_000)
    trace.launch(10, 14, kernel("mine", 15, 25, stream=7, grid=16))
    trace.launch(20, 24, kernel("hog", 26, 426, stream=8, grid=13_200, shared=ONE_AN_SM))
    trace.call("cudaStreamWaitEvent", 25, 26)
    trace.launch(30, 34, kernel("mine", 428, 438, stream=7, grid=16))
    changed = _changed(trace.build(), isolated)
    assert changed.notes == ("the host joins the streams: they depend on each other",)
    assert changed.program.duration.tolist() == [10_000, 400_000, 10_000]


@pytest.mark.parametrize(("ctas", "sms"), [(8, 8), (9, 8), (72, 16), (10_000, 32)])
def test_a_partition_is_whole_units_and_a_quarter_at_most(ctas: int, sms: int) -> None:
    """A stream gets the SMs that hold its widest kernel at once, eight CTAs an SM here."""
    case = case_of(_one(kernel("mine", 15, 25, grid=ctas)))
    assert case.residency.ctas_per_sm.tolist() == [8.0]
    assert partition_size(case, np.array([0])) == sms


def test_a_run_of_elementwise_kernels_fuses_into_its_longest() -> None:
    """Neighbours become one kernel; another kind between them ends the run."""
    timeline = _row(
        kernel(ADD, 15, 20),
        kernel(MUL, 25, 37),
        kernel("gemm", 40, 60),
        kernel(ADD, 62, 66),
        kernel(MUL, 68, 69),
    )
    changed = _changed(timeline, fuse)
    assert changed.program.duration.tolist() == [12_000, 20_000, 4_000]
    assert changed.notes == ("launches fewer: 2 a step",)


def test_launches_of_fused_kernels_are_gone() -> None:
    """The host no longer makes the calls whose kernels were fused into another."""
    timeline = _row(kernel(ADD, 15, 20), kernel(MUL, 25, 37))
    program = _changed(timeline, fuse).program
    assert issues(program).tolist() == [False, True, False, False]
    assert program.hold.tolist() == [0, 4_000, 0, 0]
    assert program.work.sum(axis=1).tolist()[:3] == [0, 10_000, 0]


def test_elementwise_kernels_of_two_streams_or_steps_do_not_fuse() -> None:
    """A run lies within one stream and one step."""
    timeline = (
        Trace()
        .step(0, 100)
        .launch(10, 14, kernel(ADD, 15, 20))
        .launch(20, 24, kernel(ADD, 25, 30, stream=8))
        .step(100, 200, 1)
        .launch(110, 114, kernel(ADD, 115, 120))
        .launch(120, 124, kernel(ADD, 125, 130, stream=8))
        .build()
    )
    changed = _changed(timeline, fuse)
    assert changed.program.duration.tolist() == [5_000] * 4
    assert changed.notes == ()


def test_neighbouring_small_grids_of_one_kernel_merge() -> None:
    """Launches of the same kernel and grid run as one; a different grid does not join them."""
    timeline = _row(
        kernel("branch", 15, 25, grid=10),
        kernel("branch", 26, 38, grid=10),
        kernel("branch", 40, 51, grid=10),
        kernel("branch", 55, 61, grid=20),
    )
    changed = _changed(timeline, merge_small_grids)
    assert changed.program.duration.tolist() == [12_000, 6_000]
    assert changed.notes == ("launches fewer: 2 a step",)


def test_grids_that_fill_the_chip_do_not_merge() -> None:
    """A kernel with a CTA for every SM gains nothing from running beside itself."""
    timeline = _row(kernel("wide", 15, 25, grid=132), kernel("wide", 26, 36, grid=132))
    assert _changed(timeline, merge_small_grids).program.duration.tolist() == [10_000, 10_000]


def test_a_fused_optimiser_makes_one_pass() -> None:
    """Kernels of three kinds make three passes; one kernel makes a single one, their mean."""
    trace = Trace().step(0, 200).annotation("Optimizer.step#AdamW.step", 20, 100)
    trace.launch(10, 14, kernel("backward", 15, 18))
    for number, name in enumerate(["mul", "add", "sqrt"] * 2):
        start = 22 + 10 * number
        trace.launch(start, start + 4, kernel(name, start + 5, start + 9))
    changed = _changed(trace.build(), fused_optimizer)
    assert changed.program.duration.tolist() == [3_000, 6 * 4_000 // 3]
    assert issues(changed.program).sum() == 2
    assert changed.notes == ()


def test_an_optimiser_of_one_pass_is_fused_already() -> None:
    """Where one kernel updates everything there is nothing to fuse, and that is said."""
    trace = Trace().step(0, 200).annotation("Optimizer.step#AdamW.step", 20, 100)
    trace.launch(22, 26, kernel("fused_adamw", 27, 60))
    changed = _changed(trace.build(), fused_optimizer)
    assert changed.program.duration.tolist() == [33_000]
    assert changed.notes == ("no optimiser step that launches kernel by kernel",)


@pytest.mark.parametrize(
    "change", [grid, spread, isolated, fuse, merge_small_grids, fused_optimizer, sm_count(66)]
)
def test_kernels_of_unknown_launches_can_be_changed(change: Change) -> None:
    """A recording of the GPU alone is changed like any other."""
    case = case_of(Trace().unlaunched(kernel("a", 5, 25), kernel("b", 30, 40)).build())
    assert run(change(case, program_of(case)).program).start.tolist() == [5_000, 30_000]
