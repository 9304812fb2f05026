"""One CUDA graph of a torch function: how it is recorded, and how it is replayed."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import ModuleType

from tailwave.cures.library.capture.captor import Array, Foreign
from tailwave.cures.library.capture.refusals import refusal
from tailwave.cures.library.capture.tree import Form, rebuild
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


@dataclass
class Turn:
    """Which stream ran a graph of the shared pool last; the next run waits for it.

    Graphs that share a pool use the same memory, so no two of them may run at a time.
    """

    torch: ModuleType
    device: Foreign
    event: Foreign = None
    stream: int = -1

    def take(self) -> Foreign:
        """Return the current stream, made to wait for the last run."""
        current = self.torch.cuda.current_stream(self.device)
        if self.event is not None and current.cuda_stream != self.stream:
            current.wait_event(self.event)
        return current

    def give(self, current: Foreign) -> None:
        """Note that the current stream has run a graph."""
        if self.event is None:
            self.event = self.torch.cuda.Event()
        self.event.record(current)
        self.stream = current.cuda_stream

    def wait(self) -> None:
        """Wait on the CPU until the last run has ended."""
        if self.event is not None:
            self.event.synchronize()


@dataclass
class TorchBucket:
    """A captured call. Holds the arguments that its key names by identity."""

    turn: Turn
    graph: Foreign
    inputs: dict[int, Array]  # static copies by the leaf's place
    form: Form
    outputs: list[object]
    reuse_outputs: bool
    gradients: list[tuple[Array, Array]]
    kept: tuple[object, ...]
    changed_inputs: tuple[int, ...] = ()
    agreement: str = ""
    _pairs: list[tuple[int, Array]] = field(init=False)

    def __post_init__(self) -> None:
        """Note what is copied at each call."""
        self._pairs = list(self.inputs.items())

    def why_not(self) -> str:
        """Return why this call cannot be replayed; "" when it can."""
        if any(kept is None and p.grad is not None for p, kept in self.gradients):
            return (
                "a parameter has a gradient now, where the graph was captured without: call "
                "zero_grad(set_to_none=True) before it, as before the capture"
            )
        return ""

    def run(self, leaves: list[object]) -> object:
        """Copy the arguments in, replay, and return the outputs."""
        torch = self.turn.torch
        with torch.no_grad():
            current = self.turn.take()
            self._copy_in(leaves)
            self._bind_gradients()
            self.graph.replay()
            for index in self.changed_inputs:
                leaves[index].copy_(self.inputs[index])  # type: ignore[attr-defined]
            outputs = self.outputs if self.reuse_outputs else self._copies()
            self.turn.give(current)
        return rebuild(self.form, outputs)

    def close(self) -> None:
        """Free the graph and its buffers, once it has run."""
        self.turn.wait()
        self.graph.reset()
        self.inputs.clear()
        self._pairs.clear()
        self.outputs.clear()
        self.gradients.clear()
        self.kept = ()

    def _copy_in(self, leaves: list[object]) -> None:
        """Copy the arguments into the static inputs."""
        if len(self._pairs) > 1:
            given = [leaves[index] for index, _ in self._pairs]
            self.turn.torch._foreach_copy_([static for _, static in self._pairs], given)
            return
        for index, static in self._pairs:
            static.copy_(leaves[index])

    def _bind_gradients(self) -> None:
        """Make the graph's gradients the parameters', with the values that those have now."""
        empty = []
        for parameter, kept in self.gradients:
            now = parameter.grad
            if kept is None or now is kept:
                continue
            if now is None:
                empty.append(kept)
            else:
                kept.copy_(now)
            parameter.grad = kept
        if empty:
            self.turn.torch._foreach_zero_(empty)

    def _copies(self) -> list[object]:
        """Return the outputs, tensors copied."""
        tensor = self.turn.torch.Tensor
        return [out.clone() if isinstance(out, tensor) else out for out in self.outputs]
