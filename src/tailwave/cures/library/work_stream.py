"""A stream to put work on, whichever library launches it."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from typing import Any

from tailwave.cures.library import frameworks
from tailwave.cures.library.closing import Closing
from tailwave.cures.library.gpu import on_gpu
from tailwave.errors import UsageError
from tailwave.gpu.devices.cuda import CoreStream, guarded


class WorkStream(Closing):
    """A stream of its own, on one GPU, from its making until `close` or the end of its `with`.

    Work that was put on it is waited for before it goes. Memory that torch recorded as used on it
    (``record_stream``) and graphs captured on it must be let go before.
    """

    def __init__(self, core: CoreStream, device: int, stack: ExitStack) -> None:
        """Take a stream, its GPU's number, and what takes it down."""
        self.device = device
        self._core = core
        self._stack: ExitStack | None = stack

    @property
    def handle(self) -> int:
        """The driver's handle, a ``CUstream``; raises UsageError once closed."""
        return int(self._open().handle)

    @property
    def closed(self) -> bool:
        """Whether it has gone."""
        return self._stack is None

    def torch(self) -> Any:  # noqa: ANN401  torch need not be installed
        """Return it as a ``torch.cuda.ExternalStream``, which keeps it open."""
        module = frameworks.torch()
        if module is None:
            raise UsageError("torch with a GPU is not imported: import torch first.")
        stream = module.cuda.ExternalStream(self.handle, device=self.device)
        stream.work_stream = self
        return stream

    def cupy(self) -> Any:  # noqa: ANN401  nor CuPy
        """Return it as a ``cupy.cuda.Stream``."""
        module = frameworks.cupy()
        if module is None:
            raise UsageError("CuPy with a GPU is not imported: import cupy first.")
        if hasattr(module.cuda.Stream, "from_external"):  # CuPy 14 and later
            return module.cuda.Stream.from_external(self)
        return module.cuda.ExternalStream(self.handle, self.device)

    def current(self) -> AbstractContextManager[None]:
        """Make it the current stream of torch and CuPy, whichever the program has imported.

        It waits for the stream that was current, and that one waits for it on the way out, so
        that what is computed inside may be used outside and the other way round.
        """
        return frameworks.switched(self)

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the version of the protocol and the handle: any CUDA library takes it so."""
        return 0, self.handle

    def close(self) -> None:
        """Wait for the GPU, then undo it; a second time does nothing."""
        stack, self._stack = self._stack, None
        if stack is None:
            return
        with on_gpu(self.device) as gpu, stack, guarded("waiting for the GPU"):
            gpu.core.sync()

    def _open(self) -> CoreStream:
        if self._stack is None:
            raise UsageError("This stream is closed: use it inside its `with`, or make another.")
        return self._core
