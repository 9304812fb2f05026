"""A small model that shares its GPU with a neighbour on another stream."""

from __future__ import annotations

import collections
import contextlib
import functools
import threading
from collections.abc import Callable, Iterator

import torch

from benchmarks.workloads.cases import DEVICE, Case, Graph, Group, Step, Workload
from benchmarks.workloads.models import inference, noise, tower


class Neighbour:
    """A thread that keeps a bounded queue of launches on its own stream."""

    def __init__(self, launch: Step, depth: int) -> None:
        """Take what to launch, and how many launches may be queued."""
        self._launch, self._depth = launch, depth
        self._stop = threading.Event()
        self._stream = torch.cuda.Stream()

    def _run(self) -> None:
        queued: collections.deque[torch.cuda.Event] = collections.deque()
        with torch.cuda.stream(self._stream), torch.inference_mode():
            while not self._stop.is_set():
                self._launch()
                done = torch.cuda.Event()
                done.record(self._stream)
                queued.append(done)
                if len(queued) > self._depth:
                    queued.popleft().synchronize()
        self._stream.synchronize()

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Keep the neighbour busy for the time of the block."""
        self._stop.clear()
        thread = threading.Thread(target=self._run, name="neighbour")
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()


def products() -> Step:
    """Return the launch of a 4096 x 4096 x 4096 product."""
    a, b = noise(4096, 4096), noise(4096, 4096)
    out = torch.empty_like(a)
    return lambda: torch.mm(a, b, out=out)


def streaming() -> Step:
    """Return the launch of a pass over half a gigabyte."""
    source = torch.ones(1 << 28, device=DEVICE, dtype=torch.bfloat16)
    out = torch.empty_like(source)
    return lambda: torch.mul(source, 2.0, out=out)


def victim(make: Callable[[], Step] | None = None, depth: int = 8) -> Workload:
    """Run a small model on its own stream, beside the neighbour if there is one."""
    model = tower(24, 1024)
    stream = torch.cuda.Stream()
    neighbour = Neighbour(make(), depth) if make else None

    @contextlib.contextmanager
    def around() -> Iterator[None]:
        with neighbour.working() if neighbour else contextlib.nullcontext():
            with torch.cuda.stream(stream):
                yield
            stream.synchronize()

    return Workload(inference(model, noise(64, 1024)), around)


GROUPS = (
    Group(
        "interference",
        (
            Case("neighbour.none", victim, top="launch-bound", graph=Graph.TIMED),
            Case(
                "neighbour.gemm4096",
                functools.partial(victim, products, 16),
                top="stream-interference",
                twin="neighbour.none",
            ),
            Case(
                "neighbour.streaming",
                functools.partial(victim, streaming, 8),
                top="stream-interference",
                twin="neighbour.none",
            ),
        ),
    ),
)
