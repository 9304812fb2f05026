"""A loader that keeps what it was made with."""

from __future__ import annotations

from typing import Any


class IterableDataset:
    """A stream of samples."""


class SequentialSampler:
    """One of torch's own samplers."""


class DataLoader:
    """A loader."""

    def __init__(  # noqa: PLR0913, PLR0917  torch's
        self,
        dataset: Any,
        batch_size: int = 1,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Any = None,
        *,
        pin_memory: bool = False,
        multiprocessing_context: Any = None,
        persistent_workers: bool = False,
    ) -> None:
        """Keep it."""
        self.dataset, self.batch_size, self.num_workers = dataset, batch_size, num_workers
        self.persistent_workers, self.pin_memory = persistent_workers, pin_memory
        self.rest = (sampler, batch_sampler, collate_fn, multiprocessing_context)


def get_worker_info() -> None:
    """Say that this is no worker."""
