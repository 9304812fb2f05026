"""Streams, and the ones that are confined to some SMs."""

from __future__ import annotations

from tailwave.gpu.devices.base import Stream
from tailwave.gpu.devices.cuda.foreign import CoreStream


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
