"""The one file that speaks to torch: which GPU this is, events, launches, the allocator."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any, NamedTuple, cast

from tailwave.errors import UnavailableError

from .foreign import Device, Event

# Each call of these makes the GPU start one kernel, or one recorded graph of kernels.
KERNEL_LAUNCHES = (
    "cudaLaunchKernel",
    "cudaLaunchKernelExC",
    "cudaLaunchCooperativeKernel",
    "cuLaunchKernel",
    "cuLaunchKernelEx",
    "cuLaunchCooperativeKernel",
)
GRAPH_LAUNCHES = ("cudaGraphLaunch", "cuGraphLaunch")


class Launches(NamedTuple):
    """How often the host started work on the GPU in one denoising call."""

    kernels: int
    graphs: int


def torch() -> ModuleType:
    """Return torch, which ComfyUI cannot run without."""
    return importlib.import_module("torch")


def refuse_unless_divisible(device: Device, sms: int) -> None:
    """Raise UnavailableError, in one sentence, where no SM partition can be made."""
    if device.type != "cuda":
        raise UnavailableError(
            f"An SM partition needs an NVIDIA GPU, and ComfyUI runs this model on "
            f"{device.type!r}: take the node out, or start ComfyUI without --cpu."
        )
    if torch().version.hip:
        raise UnavailableError(
            "An SM partition is made of CUDA green contexts, which this AMD GPU's driver has not: "
            "take the node out."
        )
    properties = torch().cuda.get_device_properties(device)
    if "MIG " in properties.name:
        raise UnavailableError(
            f"{properties.name} is a MIG instance, which already owns SMs, cache and memory of "
            "its own: give ComfyUI a larger or smaller instance instead of an SM partition."
        )
    if sms >= properties.multi_processor_count:
        raise UnavailableError(
            f"{properties.name} has {properties.multi_processor_count} SMs: ask for fewer than "
            "that, or take the node out to use them all."
        )


def index_of(device: Device) -> int:
    """Return a CUDA device's number, also of ``cuda``, which stands for the current one."""
    return cast("int", torch().cuda.current_device()) if device.index is None else device.index


def chosen(index: int) -> AbstractContextManager[object]:
    """Make a GPU the current one for a while."""
    return cast("AbstractContextManager[object]", torch().cuda.device(index))


def event() -> Event:
    """Return an event that knows its time, on the current stream, enqueued now."""
    made = cast("Event", torch().cuda.Event(enable_timing=True))
    made.record()
    return made


def frees_without_stream() -> bool:
    """Tell whether memory may be freed after the stream that it was allocated on is gone.

    torch's own allocator only files a freed block under its stream. ``cudaMallocAsync``, which
    ComfyUI turns on by default, frees *on* the stream, and fails when that has been destroyed.
    """
    return bool(torch().cuda.get_allocator_backend() == "native")


def give_memory_back() -> None:
    """Free the blocks that torch keeps for later: those of a closed stream no one else can use."""
    torch().cuda.empty_cache()


def launches_in(call: Callable[[], Any]) -> tuple[Any, Launches | None]:
    """Call and count its launches with torch's profiler; None where a profiler runs already.

    Starting a second one would end the first without a word, so torch's own mark of a running
    profiler is read before; it is of the whole process.
    """
    if getattr(torch().autograd.profiler, "_is_profiler_enabled", True):
        return call(), None
    profiler = torch().profiler
    kinds = [profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.CUDA]
    with profiler.profile(activities=kinds) as profile:
        result = call()
    names = Counter(str(seen.name) for seen in profile.events())
    return result, Launches(_count(names, KERNEL_LAUNCHES), _count(names, GRAPH_LAUNCHES))


def _count(names: Counter[str], wanted: tuple[str, ...]) -> int:
    """Add up how often some names were seen."""
    return sum(names[name] for name in wanted)
