"""Prepare batches in worker processes, ahead of use."""

from __future__ import annotations

import importlib
import shutil
import weakref
from functools import wraps
from types import ModuleType
from typing import Any

from tailwave.cures.catalogue.base import ActionReport, CureInProgram, Mechanism, Setting, whole
from tailwave.cures.hook import loaders
from tailwave.cures.hook.action import Action

# Batches travel through shared memory. Docker gives 64 MiB by default, in which workers die of a
# bus error; this much holds the two batches that each worker keeps ready, for most data.
_SHARED_MEMORY = "/dev/shm"  # noqa: S108  the kernel's, no temporary file of ours
_LEAST_SHARED_BYTES = 256 << 20
# Samplers whose order does not depend on what the program does with the batches: workers ask for
# indices ahead of use. (A sampler of the program's own may.)
_SAMPLERS = "torch.utils.data"


class Prefetch(Action):
    """``num_workers`` processes for each DataLoader that has none, kept from epoch to epoch.

    The order of the samples stays; random numbers drawn in the dataset come from the workers' own
    seeds. An iterable dataset stays (each worker would deliver all of it), and so does one that
    is bound to the GPU or to an open file, for workers are forked copies of the process.
    """

    IDLE = "the program made no DataLoader without workers"

    def on_torch(self, torch: ModuleType) -> None:
        """Change the constructor."""
        self._torch = torch
        self._changed: weakref.WeakSet[Any] = weakref.WeakSet()
        loaders.change(torch, self._choose)
        self._keep_order(torch.utils.data.DataLoader)

    def _keep_order(self, kind: type) -> None:
        """Take a random number at each epoch, as a loader without workers does.

        Kept workers are seeded once, so that without it shuffling would go on from another number.
        """
        plain = kind.__iter__  # type: ignore[attr-defined]

        @wraps(plain)
        def iterate(loader: Any) -> object:  # noqa: ANN401  torch's
            if loader in self._changed and loader._iterator is not None:  # noqa: SLF001
                whole = self._torch.empty((), dtype=self._torch.int64)
                whole.random_(generator=loader.generator)
            return plain(loader)

        kind.__iter__ = iterate  # type: ignore[attr-defined]

    def _choose(self, given: loaders.Arguments) -> loaders.Arguments:
        added: loaders.Arguments = {}
        self.attempt(lambda: added.update(self._workers(given)))
        return added

    def _workers(self, given: loaders.Arguments) -> loaders.Arguments:
        if given.get("num_workers"):
            self.refuse("the program sets num_workers itself")
            return {}
        why_not = self._unfit(given) or _no_place(self._torch)
        if why_not:
            self.refuse(why_not)
            return {}
        self.applied = True
        self.counts["loaders"] += 1
        self._changed.add(given["self"])
        workers = int(str(self.parameters["workers"]))
        return {"num_workers": workers, "persistent_workers": True}

    def _unfit(self, given: loaders.Arguments) -> str:
        """Say why a loader's work cannot be done by workers; "" where it can."""
        if isinstance(given["dataset"], self._torch.utils.data.IterableDataset):
            return "an iterable dataset would be delivered by each worker anew"
        for name in ("sampler", "batch_sampler"):
            kind = type(given.get(name))
            if given.get(name) is not None and not kind.__module__.startswith(_SAMPLERS):
                return f"its {name} {kind.__name__} may depend on what the program does"
        if given.get("multiprocessing_context") is not None:
            return "the program chooses a way to start workers itself"
        return loaders.gpu_use(self._torch, given) or loaders.handles(given)


def _no_place(torch: ModuleType) -> str:
    """Say why no worker can be started in this process; "" where one can."""
    multiprocessing = importlib.import_module("multiprocessing")  # torch has it; others may not
    if multiprocessing.get_start_method(allow_none=True) not in {None, "fork"} or (
        multiprocessing.get_all_start_methods()[0] != "fork"
    ):
        return "this Python does not fork its workers, and others need a main guard"
    if torch.utils.data.get_worker_info() is not None or multiprocessing.current_process().daemon:
        return "a worker cannot have workers"
    if shutil.disk_usage(_SHARED_MEMORY).free < _LEAST_SHARED_BYTES:
        return "there is too little shared memory for batches: give the container more (--shm-size)"
    return ""


_USUAL_MOST = 8  # more seldom help one GPU, and each takes the memory of a process
_MOST = 1024


class PrefetchCure(CureInProgram):
    """Works where loaders were iterated with that many workers."""

    name = "prefetch"
    label = "workers of the DataLoader"
    does = (
        "A DataLoader without workers reads and decodes each batch in the thread that issues the "
        "GPU's work. With workers the next batches are ready when they are asked for."
    )
    needs = (
        "A PyTorch program with a DataLoader whose data set can be sent to another process; cores "
        "for the workers. Random augmentation draws other numbers than before."
    )
    advice = (
        "Prepare the next batch while this one runs: a thread or process of its own, "
        "or tailwave.staged around the loader."
    )
    answers = ("prefetch",)
    evidence = ("DataLoader",)
    example = "8"
    action = Prefetch

    def parameters(self, setting: Setting, /) -> tuple[str, ...]:
        """A GPU's share of the cores, less the one that issues."""
        own = setting.cpus // max(setting.gpus, 1) - 1
        return (str(min(max(own, 1), _USUAL_MOST)),)

    def options(self, parameter: str) -> dict[str, str | int]:
        """So many workers."""
        return {"workers": whole(self.name, parameter, 1, _MOST)}

    def judged(self, parameter: str, report: ActionReport) -> Mechanism:
        """Count the loaders."""
        loaders = report.total("loaders")
        if not loaders:
            return report.missing("no loader was iterated")
        many = "loader" if loaders == 1 else "loaders"
        return Mechanism(works=True, sentence=f"{loaders} {many} ran with {parameter} workers.")

    def lines(self, parameter: str, /) -> tuple[str, ...]:
        """PyTorch's own."""
        return (f"DataLoader(..., num_workers={parameter}, persistent_workers=True)",)
