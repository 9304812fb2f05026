"""Watches a plain run for what a graph cannot hold, and names the user's line."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from tailwave.cures.library.capture.captor import Array, Foreign
from tailwave.cures.library.capture.refusals import SHAPE, WAIT, at, line_now
from tailwave.errors import GraphRefusedError

_SHAPED = ("nonzero", "masked_select", "unique", "index.Tensor", "index_put", "repeat_interleave")
_CALLED = {"_local_scalar_dense": "`.item()`, `float()` or an `if` on a tensor", "equal": "equal"}


@contextmanager
def no_waits(torch: ModuleType) -> Iterator[None]:
    """Make each wait for the GPU an error while it lasts."""
    before = torch.cuda.get_sync_debug_mode()
    try:
        with warnings.catch_warnings():  # torch's that this check does not find every wait
            warnings.simplefilter("ignore")
            torch.cuda.set_sync_debug_mode("error")
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)


def watch(torch: ModuleType, known: Collection[int]) -> Foreign:
    """Return a context that raises GraphRefusedError at operations a graph cannot hold.

    ``known`` has the ids of the tensors found in the program: of the CPU's one-element tensors
    only those are refused, because torch makes such tensors of plain numbers by itself.
    """
    base = import_module("torch.utils._python_dispatch").TorchDispatchMode

    class Watch(base):  # type: ignore[misc,valid-type]
        """Sees every operation."""

        def __torch_dispatch__(
            self,
            function: Foreign,
            types: object,
            args: tuple[object, ...] = (),
            kwargs: dict[str, object] | None = None,
        ) -> object:
            """Run the operation, if a graph can hold it."""
            named = kwargs or {}
            _refuse_mixed(torch, function, [*args, *named.values()], known)
            try:
                return function(*args, **named)
            except RuntimeError as error:
                if "synchronizing CUDA operation" not in str(error):
                    raise
                raise _wait(str(function)) from error

    return Watch()


def _wait(operation: str) -> GraphRefusedError:
    """Return the refusal of an operation that waits."""
    plain = operation.removeprefix("aten.")
    what = next((words for name, words in _CALLED.items() if plain.startswith(name)), operation)
    sentence = SHAPE if plain.startswith(_SHAPED) else WAIT
    return GraphRefusedError(sentence.format(at=at(line_now()), what=what))


def _refuse_mixed(
    torch: ModuleType, function: object, values: list[object], known: Collection[int]
) -> None:
    """Refuse an operation on tensors of the CPU and of the GPU."""
    tensors = list(_tensors(torch, values))
    if len(tensors) + any(isinstance(v, torch.device) for v in values) < 2:  # noqa: PLR2004 - a pair
        return
    on_gpu = any(t.is_cuda for t in tensors) or any(
        isinstance(value, torch.device) and value.type == "cuda" for value in values
    )
    if on_gpu and any(_is_read(tensor, known) for tensor in tensors):
        raise GraphRefusedError(
            f"the function uses a tensor in CPU memory{at(line_now())} ({function}), which a "
            "graph would read at capture and never again; pass it as a CUDA argument"
        )


def _is_read(tensor: Array, known: Collection[int]) -> bool:
    """Tell whether a tensor is on the CPU and of the program's own making."""
    return tensor.device.type == "cpu" and (tensor.dim() > 0 or id(tensor) in known)


def _tensors(torch: ModuleType, values: list[object]) -> Iterator[Array]:
    """Yield the tensors among an operation's arguments."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from (item for item in value if isinstance(item, torch.Tensor))
