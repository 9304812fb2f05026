"""One CUDA graph of a torch function, with its static inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import ModuleType

from tailwave.cures.library.capture.tree import Form, rebuild
from tailwave.cures.library.capture.types import Array, Foreign


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
                _copy_back(leaves[index], self.inputs[index])
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


def _copy_back(argument: Array, static: Array) -> None:
    """Give an argument that the function changes in place its new values."""
    argument.copy_(static)
