"""Gives a stream a priority: its waiting CTAs go first, or last."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Final

from tailwave.cures.library.gpu import Gpu, called, on_current_gpu
from tailwave.cures.library.work_stream import WorkStream
from tailwave.errors import UsageError
from tailwave.gpu import Feature
from tailwave.gpu.devices.cuda import CoreStream, guarded

# The place of each name in what the driver says of its range.
_PLACES: Final = {"low": 0, "high": 1}


class PriorityStream(WorkStream):
    """A stream with a priority; ``priority`` is CUDA's number for it, the lowest goes first."""

    def __init__(self, core: CoreStream, device: int, stack: ExitStack, priority: int) -> None:
        """Take a stream and its priority."""
        super().__init__(core, device, stack)
        self.priority = priority


def priority(level: str) -> PriorityStream:
    """Make a stream on the current GPU with the "high"est or the "low"est priority there is.

    A priority orders CTAs that wait; it stops none that runs, so beside a tenant whose CTAs stay
    long it brought nothing on an H200 (+0.2%, ``docs/examples.md``). The lowest is what any
    stream has that asked for none.

    Raises UsageError for another word, and UnavailableError, with what to do next, where there are
    no priorities.
    """
    with on_current_gpu() as gpu, ExitStack() as stack:
        number = number_of(gpu, level)
        with guarded("making a stream"):
            options = gpu.libraries.core.StreamOptions(priority=number)
            core = gpu.core.create_stream(options=options)
            stack.callback(core.close)
        return PriorityStream(core, gpu.number, stack.pop_all(), number)


def number_of(gpu: Gpu, level: str) -> int:
    """Return the number of a level of priority on a GPU; raises as `priority`."""
    if level not in _PLACES:
        raise UsageError(f"A priority is 'high' or 'low', not {level!r}.")
    gpu.require(Feature.PRIORITY)
    limits = called("asking for the priorities", gpu.driver.cuCtxGetStreamPriorityRange)
    return int(limits[_PLACES[level]])
