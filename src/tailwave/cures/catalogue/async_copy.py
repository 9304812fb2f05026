"""Copy from pinned memory, without holding the host."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any

from tailwave.cures.catalogue.base import ActionReport, CureInProgram, Mechanism
from tailwave.cures.hook import loaders
from tailwave.cures.hook.action import Action
from tailwave.cures.hook.calls import pass_over

_DRIVER_FILE = Path("/dev/nvidiactl")


class AsyncCopy(Action):
    """``pin_memory=True`` for loaders, and ``non_blocking=True`` for copies of what they pinned.

    A copy that does not block is ordered on the GPU: later work of its stream sees the whole of it.
    The host is not: what it writes into the source before the copy has run is copied too. So only
    tensors that a loader has just pinned are copied this way. They are new with each batch, and
    torch gives their memory to another only when the copy is done. A program's own pinned buffer,
    which it may fill again at once, and all pageable memory are copied as before.
    """

    IDLE = "the program copied nothing to the GPU that a loader has pinned"

    def on_torch(self, torch: ModuleType) -> None:
        """Change the loader, and the two ways to copy."""
        if torch.version.cuda is None or not _DRIVER_FILE.exists():
            self.refuse("there is no NVIDIA GPU to pin memory for")
            return
        self._torch = torch
        self._fresh: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        loaders.change(torch, self._choose)
        self._watch_batches()
        torch.Tensor.to = self._copying(torch.Tensor.to, _to_gpu)
        torch.Tensor.cuda = self._copying(torch.Tensor.cuda, _always)

    def _choose(self, given: loaders.Arguments) -> loaders.Arguments:
        added: loaders.Arguments = {}
        self.attempt(lambda: added.update(self._pinning(given)))
        return added

    def _pinning(self, given: loaders.Arguments) -> loaders.Arguments:
        why_not = loaders.gpu_use(self._torch, given)
        if "pin_memory" in given:
            return {}
        if why_not:
            self.refuse(why_not)
            return {}
        self.counts["loaders"] += 1
        return {"pin_memory": True}

    def _watch_batches(self) -> None:
        """Remember the pinned tensors of each batch that a loader gives."""
        kind = self._torch.utils.data.dataloader._BaseDataLoaderIter  # noqa: SLF001  no public one
        plain = kind.__next__

        @wraps(plain)
        def next_batch(iterator: object) -> object:
            batch = plain(iterator)
            self.attempt(lambda: self._remember(batch))
            return batch

        kind.__next__ = next_batch

    def _remember(self, batch: object) -> None:
        for tensor in _tensors(self._torch, batch):
            if tensor.device.type == "cpu" and tensor.is_pinned():
                self._fresh[id(tensor)] = tensor

    def _copying(
        self, plain: Callable[..., object], to_gpu: Callable[..., bool]
    ) -> Callable[..., object]:
        compiling = self._torch.compiler.is_compiling

        @wraps(plain)
        def copy(tensor: object, *args: object, **kwargs: object) -> object:
            if compiling() or tensor is not self._fresh.get(id(tensor)):
                return plain(tensor, *args, **kwargs)
            # A bool among the arguments is non_blocking or copy, given by place.
            if "non_blocking" in kwargs or any(isinstance(a, bool) for a in args):
                return plain(tensor, *args, **kwargs)
            if not to_gpu(*args, **kwargs):
                return plain(tensor, *args, **kwargs)
            self.counts["copies"] += 1
            self.applied = True
            return plain(tensor, *args, non_blocking=True, **kwargs)

        pass_over(copy)
        return copy


def _always(*_: object, **__: object) -> bool:
    return True


def _to_gpu(*args: object, **kwargs: object) -> bool:
    """Tell whether the arguments of ``Tensor.to`` name a GPU."""
    target = kwargs.get("device", args[0] if args else None)
    device = getattr(target, "device", target)  # another tensor stands for its device
    if isinstance(device, int):
        return True
    return str(device).startswith("cuda")


def _tensors(torch: ModuleType, batch: object) -> Iterator[Any]:
    """Give the tensors of a batch, as loaders nest them."""
    if isinstance(batch, torch.Tensor):
        yield batch
    elif isinstance(batch, Mapping):
        for part in batch.values():
            yield from _tensors(torch, part)
    elif isinstance(batch, list | tuple):
        for part in batch:
            yield from _tensors(torch, part)


class AsyncCopyCure(CureInProgram):
    """Works where copies were made from pinned memory, without waiting."""

    name = "async-copy"
    label = "copies from pinned memory"
    does = (
        "A copy from ordinary memory goes through the driver's own pinned buffer at a fraction of "
        "the link's speed and holds the host until it is done. Batches in pinned memory are copied "
        "at the link's speed while the host goes on."
    )
    needs = (
        "A PyTorch program that gets its batches from a DataLoader or copies tensors from the CPU; "
        "memory that can be pinned."
    )
    advice = (
        "Copy the next batch from pinned memory while this one runs: pin_memory=True in the "
        "loader, non_blocking=True on a stream of its own, or tailwave.staged around the loader."
    )
    answers = ("async-copy",)
    action = AsyncCopy

    def judged(self, _: str, report: ActionReport) -> Mechanism:
        """Count the copies."""
        copies = report.total("copies")
        if not copies:
            return report.missing("no copy was made from pinned memory")
        many = "copy was" if copies == 1 else "copies were"
        return Mechanism(works=True, sentence=f"{copies:,} {many} made from pinned memory.")

    def lines(self, _: str, /) -> tuple[str, ...]:
        """PyTorch's own."""
        return (
            "DataLoader(..., pin_memory=True)",
            'batch = batch.to("cuda", non_blocking=True)',
        )
