"""The same kernels on 32, 64, 96 and all 132 SMs: green contexts with a stream each."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from benchmarks.workloads.cases import DEVICE, HOST_CAUSES, Case, Group, Step, Workload
from benchmarks.workloads.kernels import LARGE, SM_COUNT, Product, repeated
from benchmarks.workloads.models import half, inference, noise, tower

COUNTS = (32, 64, 96, SM_COUNT)


@functools.cache
def _context(count: int) -> tuple[Any, Any]:
    """Return a green context of so many SMs and a stream in it, kept for good."""
    from cuda.core import ContextOptions, Device, SMResourceOptions  # noqa: PLC0415 - GPU hosts only

    device = Device(0)
    device.set_current()
    groups, _ = device.resources.sm.split(SMResourceOptions(count=count))
    if groups[0].sm_count != count:
        raise RuntimeError(f"asked for {count} SMs, got {groups[0].sm_count}")
    context = device.create_context(ContextOptions(resources=[groups[0]]))
    return context, context.create_stream()


@contextlib.contextmanager
def on_sms(count: int) -> Iterator[None]:
    """Run the block on a stream that is confined to ``count`` SMs."""
    if count == SM_COUNT:
        yield
        return
    _, stream = _context(count)
    with torch.cuda.stream(torch.cuda.ExternalStream(int(stream.handle))):
        yield
    torch.cuda.synchronize()


def products() -> Step:
    """Return six products of 4096 x 4096 x 4096 in a chain."""
    weights = [noise(4096, 4096) / 64 for _ in range(6)]
    start = noise(4096, 4096)

    def step() -> Tensor:
        x = start
        for weight in weights:
            x = x @ weight
        return x

    return step


def softmaxes() -> Step:
    """Return four passes of softmax over a quarter gigabyte, bound by memory."""
    rows = noise(16384, 8192)

    def step() -> Tensor:
        x = rows
        for _ in range(4):
            x = F.softmax(x, dim=-1)
        return x

    return step


def one_wave() -> Step:
    """Return launches of 132 CTAs, one an SM on the whole GPU."""
    return repeated(Product(11, 12, 8192, LARGE).launch, 6)


def convolutions() -> Step:
    """Return ResNet-18 on 256 images, channels last."""
    from torchvision.models import resnet18  # noqa: PLC0415 - slow to import, needed here only

    with torch.device(DEVICE):
        model = half(resnet18().to(memory_format=torch.channels_last))
    images = noise(256, 3, 224, 224).to(memory_format=torch.channels_last)
    return inference(model, images)


def launches() -> Step:
    """Return a model of short kernels, bound by their launches on any number of SMs."""
    return inference(tower(24, 512), noise(64, 512))


def confined(make: Callable[[], Step], count: int) -> Workload:
    """Run a step on so many SMs."""
    return Workload(make(), functools.partial(on_sms, count))


_PARTLY_FILLED = (
    "132 CTAs on this many SMs: no twin was measured, the waves were counted. Only who is told"
    " the number of SMs can see it."
)


def _top(make: Callable[[], Step], count: int) -> str | None:
    if make is launches:
        return "launch-bound"
    return "wave-tail" if make is one_wave and count != SM_COUNT else None


def _on_each_count(name: str, make: Callable[[], Step]) -> Group:
    return Group(
        f"sms_{name}",
        tuple(
            Case(
                f"sms{count:03}.{name}",
                functools.partial(confined, make, count),
                top=_top(make, count),
                not_top=() if make is launches else HOST_CAUSES,
                sm_count=count,
                remark=_PARTLY_FILLED if make is one_wave and count != SM_COUNT else "",
            )
            for count in COUNTS
        ),
    )


GROUPS = (
    _on_each_count("gemm4096", products),
    _on_each_count("softmax", softmaxes),
    _on_each_count("wave132", one_wave),
    _on_each_count("resnet18", convolutions),
    _on_each_count("launches", launches),
)
