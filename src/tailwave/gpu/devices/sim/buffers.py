"""Device memory of the simulator: numpy arrays, made when first looked at."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tailwave.gpu.devices.base import Words

WORD_BYTES = 8


class Memory:
    """How much device memory there is, and how much is free."""

    def __init__(self, total: int) -> None:
        """Start with all of it free."""
        self.free = total

    def take(self, nbytes: int) -> bool:
        """Take memory; False when there is not enough."""
        if nbytes > self.free:
            return False
        self.free -= nbytes
        return True

    def give(self, nbytes: int) -> None:
        """Give memory back."""
        self.free += nbytes


class SimBuffer:
    """Words in device memory; ``settle`` lets all work before finish."""

    def __init__(self, words: int, memory: Memory, settle: Callable[[], None]) -> None:
        """Name the memory that was taken for it."""
        self.words = words
        self._memory = memory
        self._settle = settle
        self._values: Words | None = None

    @property
    def values(self) -> Words:
        """The words themselves; kernels write here."""
        if self._values is None:
            self._values = np.zeros(self.words, dtype=np.uint64)
        return self._values

    def read(self) -> Words:
        """Copy the words to the host, after all work before has finished."""
        self._settle()
        return self.values.copy()

    def write(self, values: Words) -> None:
        """Copy words from the host, after all work before and before any after."""
        self._settle()
        self.values[: len(values)] = values

    def free(self) -> None:
        """Give the memory back; the buffer must not be used again."""
        self._memory.give(self.words * WORD_BYTES)
        self._values = None
        self.words = 0
