"""Streams: plain ones, those confined to some SMs, those of a second context; and graphs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from tailwave.gpu.devices.base import NotSupportedError, Stream
from tailwave.gpu.devices.cuda.foreign import CoreContext, CoreDevice, CoreSms, CoreStream
from tailwave.gpu.devices.cuda.opening import Libraries
from tailwave.gpu.devices.cuda.refusals import checked, guarded


class CudaStream:
    """An in-order queue of work, and the SMs that it may use."""

    def __init__(self, core: CoreStream, sm_count: int) -> None:
        """Take a stream of cuda-core."""
        self.core = core
        self.handle = core.handle
        self.sm_count = sm_count


def ours(stream: Stream) -> CudaStream:
    """Return a stream as one of this backend; ValueError for one of another."""
    if not isinstance(stream, CudaStream):
        raise ValueError("the stream is not one of this device")  # noqa: TRY004  a wrong value
    return stream


class Split(NamedTuple):
    """SMs split once: the pieces of each group, and what is in none."""

    groups: list[list[CoreSms]]
    rest: CoreSms


@contextmanager
def partitioned(
    libraries: Libraries, device: CoreDevice, sm_counts: Sequence[int]
) -> Iterator[list[Stream]]:
    """Give a stream for each group, and one for the SMs that remain, if any.

    Raises NotSupportedError when the groups, rounded up, need more SMs than there are.
    """
    found = split(libraries, device.resources.sm, sm_counts)
    groups = [*found.groups, [found.rest]] if found.rest.sm_count else found.groups
    with ExitStack() as stack:
        contexts = [confined(libraries, device, group, stack) for group in groups]
        yield [_stream(context, stack) for context in contexts]
        device.sync()  # its contexts must not go while work is on them


def split(libraries: Libraries, sms: CoreSms, asked: Sequence[int]) -> Split:
    """Split once, into equal pieces, and return the pieces of each group.

    Drivers before CUDA 13.1 split into equal pieces only; a group of several pieces of one split
    is one context all the same. The pieces are as large as the groups allow, so that the driver
    can keep the SMs of a group near each other. Raises NotSupportedError when the groups, rounded
    up, need more SMs than there are.
    """
    sizes = rounded(asked, sms.min_partition_size, sms.coscheduled_alignment)
    if sum(sizes) > sms.sm_count:
        raise NotSupportedError(
            f"Groups of {', '.join(map(str, sizes))} SMs, as rounded, need more than the "
            f"{sms.sm_count} there are: ask for fewer."
        )
    piece = math.gcd(*sizes)
    count = sum(sizes) // piece
    with guarded("splitting the SMs"):
        pieces, rest = sms.split(libraries.core.SMResourceOptions(count=[piece] * count))
    if len(pieces) < count:
        raise NotSupportedError(f"The driver makes only {len(pieces)} groups of {piece} SMs here.")
    remaining = iter(pieces)
    groups = [[next(remaining) for _ in range(size // piece)] for size in sizes]
    return Split(groups, rest)


def rounded(asked: Sequence[int], least: int, alignment: int) -> list[int]:
    """Round each group's SMs up to what the device can make a group of."""
    return [max(least, -(-count // alignment) * alignment) for count in asked]


def confined(
    libraries: Libraries, device: CoreDevice, group: Sequence[CoreSms], stack: ExitStack
) -> CoreContext:
    """Make a context of a group's SMs; the stack takes it down."""
    with guarded("making a context for a group of SMs"):
        options = libraries.core.ContextOptions(resources=list(group))
        context: CoreContext = device.create_context(options)
        stack.callback(context.close)
        return context


def _stream(context: CoreContext, stack: ExitStack) -> CudaStream:
    """Make a stream in a context; the stack takes it down first."""
    with guarded("making a stream in a group of SMs"):
        stream = context.create_stream()
        stack.callback(stream.close)
        return CudaStream(stream, context.resources.sm.sm_count)


_NEW_SIGNATURE = 13  # from this major version on, cuCtxCreate takes parameters first


@contextmanager
def another_context(libraries: Libraries, number: int, sm_count: int) -> Iterator[Stream]:
    """Make a context on a device and a stream in it; leaving destroys both."""
    driver = libraries.driver
    device = driver.CUdevice(number)
    before = (None,) if libraries.toolkit[0] >= _NEW_SIGNATURE else ()
    code, context = driver.cuCtxCreate(*before, 0, device)
    checked(code, "making a context")
    try:
        yield CudaStream(_stream_in_current(libraries), sm_count)
    finally:
        (code,) = driver.cuCtxDestroy(context)
        checked(code, "destroying a context")


def _stream_in_current(libraries: Libraries) -> CoreStream:
    """Make a stream in the context just made, which is then this thread's no longer."""
    driver = libraries.driver
    code, handle = driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)
    popped, _ = driver.cuCtxPopCurrent()
    checked(code, "making a stream")
    checked(popped, "leaving a context")
    stream: CoreStream = libraries.core.Stream.from_handle(int(handle))
    return stream
