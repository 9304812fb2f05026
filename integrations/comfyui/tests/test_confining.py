"""A confined MODEL: where its calls run, what is undone, who holds the partition."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from integrations.comfyui import pool
from integrations.comfyui.confining import confine, confined_of
from integrations.comfyui.pool import Place
from integrations.comfyui.tests.fake_comfy import (
    FakeDevice,
    FakeModel,
    FakePatcher,
    FakeTensor,
    InterruptProcessingError,
    install_comfy,
    sample,
)
from integrations.comfyui.tests.fake_gpu import FakeGpu, FakeGroup, fake_torch
from tailwave.errors import UnavailableError, UsageError

Network = Callable[[FakeTensor], object]


def patcher(gpu: FakeGpu, network: Network | None = None) -> FakePatcher:
    """Return a MODEL whose network launches work on whichever stream is current."""
    return FakePatcher(FakeModel(network or (lambda _: gpu.work())))


def test_calls_run_in_the_partition_and_the_rest_does_not(gpu: FakeGpu) -> None:
    """Each denoising call runs in the partition's stream; afterwards the old one is current."""
    model = confine(patcher(gpu), 32, count_launches=False)
    sample(model, 3)
    gpu.work()
    assert gpu.log == ["32 SMs", "32 SMs", "32 SMs", "default"]


def test_the_given_model_stays_as_it_is(gpu: FakeGpu) -> None:
    """The MODEL that the node was given still runs outside the partition."""
    plain = patcher(gpu)
    confine(plain, 32, count_launches=False)
    sample(plain, 1)
    assert gpu.log == ["empty cache", "default"]  # and nobody held the partition


def test_what_the_network_returns_is_handed_on(gpu: FakeGpu) -> None:
    """The sampler gets the network's own result."""
    model = confine(patcher(gpu, lambda _: "denoised"), 8, count_launches=True)
    assert sample(model, 4) == ["denoised"] * 4


def test_other_nodes_wrappers_still_work(gpu: FakeGpu) -> None:
    """A wrapper of another node stays, and runs where it did."""
    before = patcher(gpu)
    seen: list[str] = []

    def other(executor: Network, x: FakeTensor) -> object:
        seen.append(gpu.stream)
        return executor(x)

    before.add_wrapper_with_key("apply_model", "other", other)
    model = confine(before, 16, count_launches=False)
    sample(model, 1)
    assert (seen, gpu.log) == (["default"], ["16 SMs"])


@pytest.mark.parametrize("error", [InterruptProcessingError, ValueError])
def test_an_exception_undoes_the_stream(gpu: FakeGpu, error: type[BaseException]) -> None:
    """An interruption or an error goes on as it is, and the old stream is current again."""

    def network(_: FakeTensor) -> object:
        gpu.work()
        raise error

    model = confine(patcher(gpu, network), 32, count_launches=False)
    with pytest.raises(error):
        sample(model, 3)
    assert gpu.stream == "default"
    last = confined_of(model).recorder.last
    assert last is not None
    assert (last.finished, last.calls) == (False, 1)


def test_a_worker_thread_samples(gpu: FakeGpu) -> None:
    """ComfyUI runs prompts in a thread of its own: nodes made in one thread work in another."""
    with ThreadPoolExecutor(1) as worker:
        model = worker.submit(confine, patcher(gpu), 32, count_launches=False).result()
        worker.submit(sample, model, 2).result()
    sample(model, 1)
    assert gpu.log == ["32 SMs"] * 3


def test_two_models_share_a_partition_of_one_size(gpu: FakeGpu) -> None:
    """It is opened once, and closed when the second of them has gone, not the first."""
    one = confine(patcher(gpu), 32, count_launches=False)
    other = confine(patcher(gpu), 32, count_launches=False)
    assert len(gpu.open) == 1
    del one
    gc.collect()
    sample(other, 1)
    assert gpu.closed == []
    del other
    gc.collect()
    assert (len(gpu.open), len(gpu.closed)) == (0, 1)


def test_a_clone_holds_the_partition(gpu: FakeGpu) -> None:
    """What a node after this one makes of the MODEL keeps the partition open."""
    model = confine(patcher(gpu), 32, count_launches=False)
    clone = model.clone()
    del model
    gc.collect()
    sample(clone, 1)
    assert gpu.log == ["32 SMs"]


def test_another_number_of_sms_is_another_partition(gpu: FakeGpu) -> None:
    """After the number was changed the new size is used, and the old partition is closed."""
    plain = patcher(gpu)
    model = confine(plain, 32, count_launches=False)
    sample(model, 1)
    model = confine(plain, 16, count_launches=False)
    gc.collect()
    sample(model, 1)
    assert [group.sm_count for group in gpu.open] == [16]
    assert gpu.log == ["32 SMs", "empty cache", "16 SMs"]


def test_a_second_partition_node_takes_the_place_of_the_first(gpu: FakeGpu) -> None:
    """Of two in a row the last decides, and the calls go through one partition alone."""
    model = confine(patcher(gpu), 32, count_launches=False)
    last = confine(model, 16, count_launches=False)
    assert [len(keyed["tailwave"]) for keyed in last.wrappers.values()] == [1, 1]
    sample(last, 1)
    assert gpu.log == ["16 SMs"]


def test_with_cuda_malloc_async_the_stream_outlives_its_models(gpu: FakeGpu) -> None:
    """Memory may still have to be freed on it, so it is parked, and taken up again."""
    gpu.allocator = "cudaMallocAsync"
    model = confine(patcher(gpu), 32, count_launches=False)
    del model
    gc.collect()
    assert gpu.closed == []
    confine(patcher(gpu), 32, count_launches=False)
    assert len(gpu.open) == 1
    assert pool.POOL.places() == [Place(0, 32)]


def test_a_partition_that_cannot_be_proved_is_closed(
    gpu: FakeGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No half-made partition stays behind."""
    monkeypatch.setattr(FakeGroup, "unproved", True)
    with pytest.raises(UnavailableError, match="did not run"):
        confine(patcher(gpu), 32, count_launches=False)
    assert (gpu.open, pool.POOL.places()) == ([], [])


@pytest.mark.parametrize(
    ("attribute", "value", "sentence"),
    [
        ("hip", "7.2", "An SM partition is made of CUDA green contexts"),
        ("name", "NVIDIA H200 MIG 1g.18gb", "NVIDIA H200 MIG 1g.18gb is a MIG instance"),
        ("sm_count", 32, "NVIDIA H200 has 32 SMs: ask for fewer"),
        ("refusal", "The driver is too old.", "The driver is too old."),
    ],
)
def test_a_gpu_that_cannot_be_divided_is_refused(
    gpu: FakeGpu, monkeypatch: pytest.MonkeyPatch, attribute: str, value: object, sentence: str
) -> None:
    """The node fails with one sentence that says why, before anything is opened."""
    setattr(gpu, attribute, value)
    monkeypatch.setitem(sys.modules, "torch", fake_torch(gpu))
    with pytest.raises(UnavailableError, match=sentence):
        confine(patcher(gpu), 32, count_launches=False)
    assert gpu.open == []


def test_a_model_on_the_cpu_is_refused(gpu: FakeGpu) -> None:
    """ComfyUI started with --cpu has no SMs to divide."""
    model = FakePatcher(FakeModel(lambda _: gpu.work()), FakeDevice("cpu", None))
    with pytest.raises(UnavailableError, match="runs this model on 'cpu'"):
        confine(model, 32, count_launches=False)


def test_a_call_on_another_gpu_is_refused(gpu: FakeGpu) -> None:
    """A model spread over GPUs is not silently run outside the partition."""
    model = confine(patcher(gpu), 32, count_launches=False)
    with pytest.raises(UnavailableError, match=r"on cuda:0, and this denoising call on cuda:1"):
        sample(model, 1, FakeTensor(FakeDevice("cuda", 1)))
    assert gpu.log == []


def test_a_model_in_no_partition_has_no_figures(gpu: FakeGpu) -> None:
    """The report's node says which MODEL to connect."""
    with pytest.raises(UsageError, match="connect the one that comes out of"):
        confined_of(patcher(gpu))


def test_comfyuis_compiler_is_off_in_the_call_alone(
    gpu: FakeGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its graphs would leave the partition; outside of the calls its switches are untouched."""
    args = install_comfy(monkeypatch, disable_comfy_compiler=False, disable_cuda_graphs=False)
    seen: list[tuple[bool, bool]] = []

    def network(_: FakeTensor) -> None:
        seen.append((args.disable_comfy_compiler, args.disable_cuda_graphs))

    model = confine(patcher(gpu, network), 32, count_launches=False)
    sample(model, 1)
    assert seen == [(True, True)]
    assert (args.disable_comfy_compiler, args.disable_cuda_graphs) == (False, False)
    assert (confined_of(model).compiler_was_on, confined_of(model).graphs_were_on) == (True, True)
