"""The torch and the CuPy that the program has imported: found here, never imported."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from tailwave.errors import UsageError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


class Switchable(Protocol):
    """A stream of ours, as each framework sees it."""

    device: int

    def torch(self) -> Any:  # noqa: ANN401  torch need not be installed
        """Return it as torch's."""

    def cupy(self) -> Any:  # noqa: ANN401  nor CuPy
        """Return it as CuPy's."""


def torch() -> ModuleType | None:
    """Return torch, if the program has imported it and it has a GPU."""
    module = sys.modules.get("torch")
    cuda = getattr(module, "cuda", None)  # which one that is being imported does not have yet
    if cuda is None or not (cuda.is_initialized() or cuda.is_available()):
        return None
    return module


def cupy() -> ModuleType | None:
    """Return CuPy, if the program has imported it and it has a GPU."""
    module = sys.modules.get("cupy")
    cuda = getattr(module, "cuda", None)
    return module if cuda is not None and cuda.is_available() else None


def current_number(driver: ModuleType) -> int:
    """Return the number of the GPU that this thread uses; makes no context. The first is 0."""
    used, arrays = torch(), cupy()
    if used is not None and used.cuda.is_initialized():
        return int(used.cuda.current_device())
    if arrays is not None:
        return int(arrays.cuda.runtime.getDevice())
    try:
        code, number = driver.cuCtxGetDevice()
    except RuntimeError:  # there is no libcuda.so, which opening the GPU will say
        return 0
    return 0 if int(code) else int(number)


def current_handle() -> int:
    """Return the stream that is torch's current one here, or CuPy's; else the default stream, 0."""
    used, arrays = torch(), cupy()
    if used is not None:
        return int(used.cuda.current_stream().cuda_stream)
    return int(arrays.cuda.get_current_stream().ptr) if arrays is not None else 0


def handle_of(stream: object) -> int:
    """Return the driver's handle of anybody's stream; raises UsageError for what is none."""
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for name in ("cuda_stream", "ptr"):  # torch's and CuPy's of before that protocol
        if isinstance(handle := getattr(stream, name, None), int):
            return handle
    if isinstance(stream, int):
        return stream
    raise UsageError(
        f"A stream is one of torch, CuPy or tailwave, or its handle, not {type(stream).__name__}."
    )


def green_context(handle: int) -> int:
    """Return the green context of a stream, the part of the SMs that it may use, by its handle.

    0 for none, and before CUDA 12.4.
    """
    ask = _green_context_of()
    found = ctypes.c_void_p()
    if ask is None or ask(ctypes.c_void_p(handle), ctypes.byref(found)) != 0:
        return 0
    return found.value or 0


@cache
def _green_context_of() -> ctypes._NamedFuncPointer | None:
    """Return the driver's call for it, where there is one."""
    try:
        return ctypes.CDLL("libcuda.so.1").cuStreamGetGreenCtx
    except (OSError, AttributeError):
        return None


@contextmanager
def switched(stream: Switchable) -> Iterator[None]:
    """Make a stream the current one of each framework; it follows the one before, and precedes it.

    Raises UsageError when the program has imported neither.
    """
    uses = {_in_torch: torch(), _in_cupy: cupy()}
    if not any(uses.values()):
        raise UsageError(
            "Neither torch nor CuPy with a GPU is imported, so there is no current stream to "
            "change: import one of them first, or launch on `.handle`."
        )
    with ExitStack() as stack:
        for use, module in uses.items():
            if module is not None:
                stack.enter_context(use(module, stream))
        yield


@contextmanager
def _in_torch(torch: ModuleType, stream: Switchable) -> Iterator[None]:
    before, ours = torch.cuda.current_stream(stream.device), stream.torch()
    ours.wait_stream(before)
    try:
        with torch.cuda.stream(ours):
            yield
    finally:
        before.wait_stream(ours)


@contextmanager
def _in_cupy(cupy: ModuleType, stream: Switchable) -> Iterator[None]:
    with cupy.cuda.Device(stream.device):
        before, ours = cupy.cuda.get_current_stream(), stream.cupy()
        ours.wait_event(before.record())
        try:
            with _used(ours):
                yield
        finally:
            before.wait_event(ours.record())


def _used(stream: Any) -> AbstractContextManager[object]:  # noqa: ANN401  CuPy's
    context: AbstractContextManager[object] = stream
    return context
