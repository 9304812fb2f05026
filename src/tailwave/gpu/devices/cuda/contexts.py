"""Makes a second context, as another process on the GPU would have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tailwave.gpu.devices.base import Stream
from tailwave.gpu.devices.cuda.foreign import CoreStream
from tailwave.gpu.devices.cuda.libraries import Libraries
from tailwave.gpu.devices.cuda.refusals import checked
from tailwave.gpu.devices.cuda.streams import CudaStream

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
