"""From a recording to a case: the GPU chosen, the steps found, the doubts noted."""

from __future__ import annotations

import pytest

from tailwave.model import DeviceInfo
from tailwave.recordings.replay.division import Cause, divide
from tailwave.recordings.timeline.prepare import busiest_device, prepare
from tests.builders import H200, Trace, kernel, steps


def two_gpus(*devices: DeviceInfo) -> Trace:
    """Record one process that serves two GPUs, the second with more work."""
    trace = Trace(devices=devices).step(0, 100).launch(0, 4, kernel("a", 5, 25))
    return trace.launch(10, 14, kernel("b", 15, 95, device=1))


def test_the_busiest_gpu_is_looked_at() -> None:
    """Of two GPUs the one with more work is diagnosed, and the other one is mentioned."""
    second = DeviceInfo(index=1, name="second", sm_count=100)
    found = prepare(two_gpus(H200, second).build())
    assert found.case.device == second
    assert found.notes == ("The recording holds 2 GPUs; this is GPU 1, the busiest.",)
    assert divide(found.case).us(Cause.KERNEL) == 80


def test_a_gpu_that_is_not_described_is_known_by_its_number() -> None:
    """A recording need not describe its GPU; then its waves are unknown, and that is said."""
    assert busiest_device(two_gpus().build()) == DeviceInfo(index=1)
    assert prepare(two_gpus().build()).notes[-1] == (
        "The recording does not describe its GPU, so waves and idle SMs cannot be computed."
    )


def test_the_case_knows_the_mean_step() -> None:
    """Figures of a case are those of the mean step, and its rows those of all steps."""
    trace = Trace()
    for number, length in enumerate((300, 100, 200)):
        trace.at(1000 * number).step(0, length, number)
        trace.launch(0, 4, kernel(f"k{number}", 5, length)).op("aten::x", 10, 12)
    trace.at(0)
    case = prepare(trace.build()).case
    assert case.steps.duration.tolist() == [1_000_000, 1_000_000, 200_000]
    assert case.step_us == pytest.approx(2200 / 3)
    assert [case.name_of_gpu(int(row)) for row in case.gpu_rows.nonzero()[0]] == ["k0", "k1", "k2"]
    assert [case.name_of_host(int(row)) for row in case.host_rows()] == [
        name
        for number in range(3)
        for name in (f"ProfilerStep#{number}", "cudaLaunchKernel", "aten::x")
    ]


def test_doubts_are_collected_in_order() -> None:
    """What was left out comes first, then doubts, then steps, then the GPU."""
    trace = Trace(recorded=(0, 5000))
    timeline = steps(3, 100, lambda t: t.launch(0, 4, kernel("k", 5, 5), kernel("l", 6, 9)), trace)
    trace.at(0).unlaunched(kernel("absurd", 0, 90_000))
    notes = prepare(trace.build()).notes
    assert timeline.notes == ()
    assert notes == (
        "1 GPU event left out: longer than the whole recording (5 ms).",
        "3 GPU events of 6 last 0 ns (rounded down).",
    )
