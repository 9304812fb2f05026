"""A small model whose host thread must fight for the interpreter or for its core."""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import torch

from benchmarks.workloads.cases import DEVICE, HOST_CAUSES, Case, Graph, Group, Workload
from benchmarks.workloads.models import inference, noise, tower

RIVALS = 3


@contextlib.contextmanager
def interpreter_taken(burn_s: float, rest_s: float) -> Iterator[None]:
    """Run Python threads that compute for ``burn_s``, rest for ``rest_s``, and so on."""
    stop = threading.Event()

    def burn() -> None:
        while not stop.is_set():
            until = time.perf_counter() + burn_s
            while not stop.is_set() and time.perf_counter() < until:
                sum(range(100))
            if rest_s:
                time.sleep(rest_s)

    threads = [threading.Thread(target=burn, name=f"rival-{i}") for i in range(RIVALS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@contextlib.contextmanager
def rivals(count: int) -> Iterator[list[int]]:
    """Run processes that never rest; give their ids."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield [rival.pid for rival in running]
    finally:
        for rival in running:
            rival.kill()
            rival.wait()


@contextlib.contextmanager
def core_taken() -> Iterator[None]:
    """Pin the calling thread to one core, with processes that never rest."""
    allowed = os.sched_getaffinity(0)
    core = {max(allowed)}
    with rivals(RIVALS) as pids:
        for pid in (*pids, 0):
            os.sched_setaffinity(pid, core)
        try:
            yield
        finally:
            os.sched_setaffinity(0, allowed)


@contextlib.contextmanager
def crowd(a_core: int) -> Iterator[None]:
    """Give the CPU operators eight threads, and each core so many processes that never rest."""
    before = torch.get_num_threads()
    torch.set_num_threads(8)
    with rivals(a_core * len(os.sched_getaffinity(0))):
        yield
    torch.set_num_threads(before)


def small(depth: int, around: Callable[[], contextlib.AbstractContextManager[None]]) -> Workload:
    """Run a model of short kernels in the given surroundings."""
    return Workload(inference(tower(depth, 256), noise(64, 256)), around)


def preprocessed(rivals_a_core: int) -> Workload:
    """Standardise a batch with CPU operators, then compute on the GPU."""
    model = tower(12, 2048, inputs=512)
    raw = torch.rand((8192, 512))

    def step() -> None:
        with torch.inference_mode():
            batch = (raw - raw.mean(0)) / raw.std()
            batch = torch.sigmoid(batch).bfloat16().pin_memory()
            model(batch.to(DEVICE, non_blocking=True))

    return Workload(step, functools.partial(crowd, rivals_a_core))


def preprocessed_before() -> Workload:
    """Compute on a batch that was standardised before."""
    model = tower(12, 2048, inputs=512)
    batch = torch.rand((8192, 512)).bfloat16().pin_memory()

    def step() -> None:
        with torch.inference_mode():
            model(batch.to(DEVICE, non_blocking=True))

    return Workload(step)


def _taken(name: str, burn_s: float, rest_s: float) -> Case:
    return Case(
        f"contention.{name}",
        functools.partial(small, 8, functools.partial(interpreter_taken, burn_s, rest_s)),
        top="host-contention",
        twin="contention.alone",
    )


GROUPS = (
    Group(
        "interpreter",
        (
            Case(
                "contention.alone",
                functools.partial(small, 8, contextlib.nullcontext),
                top="launch-bound",
                graph=Graph.TIMED,
            ),
            _taken("interpreter_always", 3600.0, 0.0),
            _taken("interpreter_often", 0.001, 0.004),
        ),
        limit_s=90,
    ),
    Group(
        "core",
        (
            Case(
                "contention.own_core",
                functools.partial(small, 80, contextlib.nullcontext),
                top="launch-bound",
                graph=Graph.TIMED,
            ),
            Case(
                "contention.shared_core",
                functools.partial(small, 80, core_taken),
                top="host-contention",
                twin="contention.own_core",
            ),
        ),
    ),
    Group(
        "preprocess",
        (
            Case("preprocess.fed", preprocessed_before, not_top=HOST_CAUSES),
            Case(
                "preprocess.operators",
                functools.partial(preprocessed, 0),
                top="host-starved",
                twin="preprocess.fed",
            ),
            Case(
                "preprocess.crowded",
                functools.partial(preprocessed, 2),
                top="host-contention",
                twin="preprocess.operators",
            ),
        ),
    ),
)
