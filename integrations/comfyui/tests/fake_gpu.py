"""A GPU with streams that keeps a list of its work, and what of torch and tailwave speaks to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any, Self

from tailwave.errors import UnavailableError


class FakeGpu:
    """A GPU with streams, a clock that the work moves on, and what was done on it."""

    def __init__(self) -> None:
        """Begin with an H200 that has done nothing."""
        self.log: list[str] = []
        self.open: list[FakeGroup] = []
        self.closed: list[FakeGroup] = []
        self.stream = "default"
        self.now_ms = 0.0
        self.name, self.sm_count, self.hip = "NVIDIA H200", 132, None
        self.allocator = "native"
        self.profiler_busy = False
        self.traced: list[str] | None = None
        self.refusal = ""  # what tailwave.partition raises

    def work(self, ms: float = 1.0, launches: int = 3) -> None:
        """Launch some kernels on the current stream."""
        self.now_ms += ms
        self.log.append(self.stream)
        if self.traced is not None:
            self.traced += ["cudaLaunchKernel"] * launches + ["cudaGraphLaunch", "aten::add"]

    def partition(self, sms: int) -> FakeGroup:
        """Stand in for ``tailwave.partition``: groups of 8."""
        if self.refusal:
            raise UnavailableError(self.refusal)
        group = FakeGroup(self, sms)
        self.open.append(group)
        return group


class FakeGroup:
    """``SmGroup``."""

    unproved = False

    def __init__(self, gpu: FakeGpu, asked: int) -> None:
        """Round up to whole groups."""
        self.gpu = gpu
        self.sm_count = -(-asked // 8) * 8
        self.note = "" if asked == self.sm_count else f"{asked} SMs were asked for."

    @contextmanager
    def current(self) -> Iterator[None]:
        """Switch the stream, and back."""
        assert self in self.gpu.open
        before, self.gpu.stream = self.gpu.stream, f"{self.sm_count} SMs"
        try:
            yield
        finally:
            self.gpu.stream = before

    def prove(self) -> frozenset[int]:
        """Say which SMs a kernel ran on."""
        if self.unproved:
            raise UnavailableError("The kernel did not run.")
        return frozenset(range(self.sm_count))

    def close(self) -> None:
        """Be destroyed."""
        self.gpu.open.remove(self)
        self.gpu.closed.append(self)


class FakeEvent:
    """``torch.cuda.Event``, on the GPU's own clock."""

    def __init__(self, gpu: FakeGpu, *, enable_timing: bool) -> None:
        """Be on no stream yet."""
        assert enable_timing
        self.gpu, self.at = gpu, -1.0

    def record(self) -> None:
        """Keep the time."""
        self.at = self.gpu.now_ms

    def synchronize(self) -> None:
        """Be waited for, which takes a recorded event."""
        assert self.at >= 0

    def elapsed_time(self, end: FakeEvent) -> float:
        """Return the milliseconds up to another event."""
        return end.at - self.at


class FakeProfile:
    """``torch.profiler.profile``: the names of what was called while it ran."""

    def __init__(self, gpu: FakeGpu, *, activities: list[str]) -> None:
        """Have seen nothing."""
        assert activities == ["cpu", "cuda"]
        self.gpu = gpu
        self.seen: list[str] = []

    def __enter__(self) -> Self:
        """Begin."""
        self.gpu.traced = self.seen
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        self.gpu.traced = None

    def events(self) -> list[SimpleNamespace]:
        """Return what was seen."""
        return [SimpleNamespace(name=name) for name in self.seen]


@contextmanager
def chosen(index: int) -> Iterator[None]:
    """``torch.cuda.device``; there is one GPU."""
    assert index == 0
    yield


def fake_torch(gpu: FakeGpu) -> ModuleType:
    """Return the parts of torch that the nodes use."""
    torch: Any = ModuleType("torch")
    torch.version = SimpleNamespace(hip=gpu.hip)
    torch.profiler = SimpleNamespace(
        profile=partial(FakeProfile, gpu),
        ProfilerActivity=SimpleNamespace(CPU="cpu", CUDA="cuda"),
    )
    torch.autograd = SimpleNamespace(
        profiler=SimpleNamespace(_is_profiler_enabled=gpu.profiler_busy)
    )
    properties = SimpleNamespace(name=gpu.name, multi_processor_count=gpu.sm_count)
    torch.cuda = SimpleNamespace(
        Event=partial(FakeEvent, gpu),
        device=chosen,
        current_device=lambda: 0,
        get_device_properties=lambda _: properties,
        get_allocator_backend=lambda: gpu.allocator,
        empty_cache=lambda: gpu.log.append("empty cache"),
    )
    module: ModuleType = torch
    return module
