"""The report's text, for a run of known times."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from integrations.comfyui.confining import confine, confined_of
from integrations.comfyui.report import percentile, report
from integrations.comfyui.tests.fake_comfy import (
    FakeModel,
    FakePatcher,
    FakeTensor,
    install_comfy,
    sample,
)
from integrations.comfyui.tests.fake_gpu import FakeGpu, fake_torch


def confined(gpu: FakeGpu, times: Iterator[float], *, count_launches: bool = False) -> FakePatcher:
    """Return a MODEL on 30 SMs whose calls take these milliseconds."""
    model = FakePatcher(FakeModel(lambda _: gpu.work(next(times))))
    return confine(model, 30, count_launches=count_launches)


def lines_after(model: FakePatcher, steps: int) -> list[str]:
    """Sample, and return the report's lines but for the seconds that the run took."""
    sample(model, steps)
    lines = report(confined_of(model)).splitlines()
    return [line.partition(" in ")[0] if line.startswith("Last run") else line for line in lines]


def test_it_says_where_and_how_long(gpu: FakeGpu) -> None:
    """SMs, their proof, the rounding; calls, steps; times of all calls but the first."""
    assert lines_after(confined(gpu, iter([50.0, 2.0, 3.0, 4.0])), 4) == [
        (
            "SM partition of 32 SMs: a kernel run in it was seen on 32 different SMs. "
            "30 SMs were asked for."
        ),
        "Last run: 4 denoising calls for 4 steps",
        (
            "A denoising call on the GPU: p50 3.00 ms, p99 4.00 ms (the slowest), of 3 calls; "
            "the first is left out."
        ),
        "ComfyUI's model compiler is off or not in this version.",
    ]


def test_a_long_run_has_a_99th_percentile(gpu: FakeGpu) -> None:
    """Of 200 calls the 99th percentile is the third slowest, and is not called the slowest."""
    lines = lines_after(confined(gpu, iter(float(n) for n in range(201))), 201)
    assert lines[2] == (
        "A denoising call on the GPU: p50 100.00 ms, p99 198.00 ms, of 200 calls; "
        "the first is left out."
    )


def test_launches_of_one_call_are_counted(gpu: FakeGpu) -> None:
    """The third call is profiled: 3 kernels and a graph; its time is left out."""
    lines = lines_after(confined(gpu, iter([9.0, 1.0, 7.0, 1.0]), count_launches=True), 4)
    assert "p99 1.00 ms (the slowest), of 2 calls" in lines[2]
    assert lines[3] == (
        "Call 3 launched 3 kernels and 1 graphs; its time is left out, for the counting slows it."
    )


@pytest.mark.parametrize(("busy", "steps"), [(True, 4), (False, 2)])
def test_launches_that_could_not_be_counted_are_not_made_up(
    gpu: FakeGpu,
    monkeypatch: pytest.MonkeyPatch,
    busy: bool,  # noqa: FBT001
    steps: int,
) -> None:
    """With another profiler at work, or too few calls, the report says so, and no figure."""
    gpu.profiler_busy = busy
    monkeypatch.setitem(sys.modules, "torch", fake_torch(gpu))
    lines = lines_after(confined(gpu, iter([1.0] * 4), count_launches=True), steps)
    assert lines[3] == (
        "Launches were not counted: call 3 did not come, or another profiler was running."
    )


def test_before_any_run_it_says_what_to_connect(gpu: FakeGpu) -> None:
    """A report that is not made to wait for the sampler has nothing to tell."""
    text = report(confined_of(confined(gpu, iter([0.0]))))
    assert text.splitlines()[1:] == [
        "It has not sampled yet: connect the LATENT that its sampler gives."
    ]


def test_an_ended_run_has_no_times(gpu: FakeGpu) -> None:
    """After an interruption the calls are told, and no percentile of an unknown part."""
    model = confined(gpu, iter([1.0, 1.0]))
    with pytest.raises(StopIteration):
        sample(model, 3)
    assert report(confined_of(model)).splitlines()[1:] == [
        "The last run was ended by an error or an interruption after 3 calls.",
        "ComfyUI's model compiler is off or not in this version.",
    ]


@pytest.mark.parametrize(
    ("graphs_off", "sentence"),
    [
        (True, "ComfyUI's model compiler was paused during each denoising call."),
        (
            False,
            (
                "ComfyUI's model compiler and its CUDA graphs, which would leave the partition, "
                "were paused during each denoising call."
            ),
        ),
    ],
)
def test_the_compilers_pause_is_told(
    gpu: FakeGpu,
    monkeypatch: pytest.MonkeyPatch,
    graphs_off: bool,  # noqa: FBT001
    sentence: str,
) -> None:
    """Who compares times must know that ComfyUI's own speed-up was off."""
    install_comfy(monkeypatch, disable_comfy_compiler=False, disable_cuda_graphs=graphs_off)
    assert lines_after(confined(gpu, iter([1.0, 1.0])), 2)[-1] == sentence


def test_a_percentile_is_one_of_the_values() -> None:
    """The smallest value that at least the part of them does not exceed."""
    assert percentile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.0
    assert percentile([4.0, 1.0, 3.0, 2.0], 0.51) == 3.0
    assert percentile([5.0], 0.99) == 5.0


def test_a_call_outside_a_run_is_confined_and_not_noted(gpu: FakeGpu) -> None:
    """Some nodes call the network without a sampler, before a run or after it."""
    model = confined(gpu, iter([1.0]))
    carried = confined_of(model)
    carried.around_call(lambda _: gpu.work(), FakeTensor())
    assert (gpu.log, carried.recorder.last) == (["32 SMs"], None)
    sample(model, 1)
    carried.around_call(lambda _: gpu.work(), FakeTensor())
    assert carried.recorder.last is not None
    assert (gpu.log, carried.recorder.last.calls) == (["32 SMs"] * 3, 1)
