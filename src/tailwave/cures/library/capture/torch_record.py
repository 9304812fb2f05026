"""Records one call into a CUDA graph with torch, and leaves torch usable when that fails."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import ModuleType

from tailwave.cures.library.capture.torch_words import refusal
from tailwave.cures.library.capture.types import Foreign
from tailwave.errors import GraphRefusedError

_EMPTY = "CUDA Graph is empty"


def record(
    torch: ModuleType, call: Callable[[], object], pool: Foreign, generators: list[Foreign]
) -> tuple[Foreign, object]:
    """Capture a call on the current stream; return the graph and what the call returned.

    Capture mode "thread_local": the program's other threads may go on using the GPU. Raises
    GraphRefusedError; torch's allocator and generators are then as before.
    """
    graph = torch.cuda.CUDAGraph()
    for generator in generators:
        graph.register_generator_state(generator)
    with _no_collection(), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        _own_workspaces(torch)
        graph.capture_begin(pool=pool, capture_error_mode="thread_local")
        result, failure = _called(call)
        try:
            graph.capture_end()
        except RuntimeError as error:
            _mend(torch, pool)
            failure = failure or error
        _own_workspaces(torch)
    if failure is not None:
        raise refusal(failure) from failure
    if any(_EMPTY in str(warning.message) for warning in said):
        raise GraphRefusedError(
            "the function launches nothing on the GPU, so there is nothing to capture; pass CUDA "
            "tensors, and check that the work is done in the function itself"
        )
    return graph, result


def _called(call: Callable[[], object]) -> tuple[object, Exception | None]:
    """Return what the call returned, or the exception that it ended with."""
    try:
        return call(), None
    except Exception as error:  # noqa: BLE001 - the capture has to be ended whatever went wrong
        return None, error


def _own_workspaces(torch: ModuleType) -> None:
    """Let cuBLAS take its workspace anew: within the capture from the graph's pool.

    A workspace from before would be outside of the pool, and whoever clears torch's workspaces
    (torch.compile does) would free it under the graph.
    """
    torch._C._cuda_clearCublasWorkspaces()  # noqa: SLF001 - torch has no other way


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from freeing a graph or an event during the capture."""
    on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def _mend(torch: ModuleType, pool: Foreign) -> None:
    """Undo what ``capture_end`` leaves undone when CUDA has given the capture up.

    The allocator would go on holding back freed memory, and the default generator would refuse
    each draw outside of a capture; CUDA's last error would be blamed on the next kernel.
    """
    device = torch.cuda.current_device()
    for undo in ("_cuda_endAllocateToPool", "_cuda_releasePool"):
        with suppress(RuntimeError, AttributeError):
            getattr(torch._C, undo)(device, pool)  # noqa: SLF001 - torch has no other way
    with suppress(RuntimeError, AttributeError):
        other = torch.Generator(device=f"cuda:{device}")
        torch.cuda.default_generators[device].graphsafe_set_state(other.graphsafe_get_state())
    with suppress(RuntimeError):
        torch.empty(1, device=f"cuda:{device}").zero_()
