"""Runs work on a device: memory and launches in short words, and how long the host is held."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from statistics import median

from tailwave.gpu.devices.base import (
    Buffer,
    Device,
    Feature,
    Launch,
    NotSupportedError,
    Stream,
    Words,
)

_SHORT_RUNS = 20


class Bench:
    """One device, with a stream and a clock."""

    def __init__(self, device: Device) -> None:
        """Take a device; nothing runs on it yet."""
        self.device = device

    @cached_property
    def stream(self) -> Stream:
        """The stream that work runs on unless it is about streams."""
        return self.device.stream()

    def need(self, feature: Feature) -> None:
        """Raise NotSupportedError with the device's reason if it lacks a feature."""
        if feature not in self.device.features:
            raise NotSupportedError(self.device.why_not(feature))

    @contextmanager
    def words(self, count: int) -> Iterator[Buffer]:
        """Take device memory of zeroes for a while."""
        buffer = self.device.buffer(count)
        try:
            yield buffer
        finally:
            buffer.free()

    def run(self, kernel: str, grid: int, block: int, *args: object, shared: int = 0) -> None:
        """Enqueue a kernel."""
        self.device.launch(self.stream, Launch(kernel, grid, block, args, shared))

    def output(
        self, words: int, kernel: str, grid: int, block: int, *args: object, shared: int = 0
    ) -> Words:
        """Run a kernel whose first argument is where it writes; returns the words written."""
        with self.words(words) as out:
            self.run(kernel, grid, block, out, *args, shared=shared)
            return out.read()

    def timed_us(self, work: Callable[[], None]) -> float:
        """Return how long the host is held by some work (us)."""
        start = self.device.clock_ns()
        work()
        return (self.device.clock_ns() - start) / 1000

    def held_us(self, enqueue: Callable[[], None]) -> float:
        """Return how long the host is held by enqueueing (us), and then wait for the work."""
        held = self.timed_us(enqueue)
        self.device.synchronize(self.stream)
        return held

    def finished_us(self, enqueue: Callable[[], None]) -> float:
        """Return how long it takes to enqueue some work and wait until it has finished (us)."""

        def work() -> None:
            enqueue()
            self.device.synchronize(self.stream)

        return self.timed_us(work)

    @staticmethod
    def typical(sample: Callable[[], float]) -> float:
        """Return the median of some runs of what is so short that one alone says little."""
        return median(sample() for _ in range(_SHORT_RUNS))
