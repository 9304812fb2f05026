"""A loader that keeps what it was made with."""

from __future__ import annotations


class IterableDataset:
    """A stream of samples."""


class SequentialSampler:
    """One of torch's own samplers."""


class DataLoader:
    """A loader."""

    def __init__(  # noqa: PLR0913  as torch's
        self,
        dataset: object,
        batch_size: int = 1,
        sampler: object = None,
        batch_sampler: object = None,
        num_workers: int = 0,
        collate_fn: object = None,
        *,
        pin_memory: bool = False,
        multiprocessing_context: object = None,
        persistent_workers: bool = False,
    ) -> None:
        """Keep it."""
        self.dataset, self.batch_size, self.num_workers = dataset, batch_size, num_workers
        self.persistent_workers, self.pin_memory = persistent_workers, pin_memory
        self.rest = (sampler, batch_sampler, collate_fn, multiprocessing_context)

    def __iter__(self) -> object:
        """Give nothing."""
        return iter(())


def get_worker_info() -> None:
    """Say that this is no worker."""
