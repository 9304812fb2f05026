"""Steps whose input is prepared in Python while the GPU waits, beside a fed one."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset

from benchmarks.workloads.cases import DEVICE, HOST_CAUSES, Case, Group, Workload
from benchmarks.workloads.models import PatchTower, half, tower

ROWS, FEATURES, DEPTH, WIDTH = 5120, 64, 16, 2048
_IMAGE, _CROP, _BATCH = 256, 224, 8

Batch = npt.NDArray[np.float32]


def busy(milliseconds: float) -> Callable[[], Batch]:
    """Return a preparation that computes in numpy for so long."""
    rows = np.random.default_rng(0).standard_normal((ROWS, FEATURES), dtype=np.float32)
    scratch = rows[:256].copy()

    def prepare() -> Batch:
        until = time.perf_counter() + milliseconds * 1e-3
        while time.perf_counter() < until:
            np.tanh(scratch * np.float32(1.01) + np.float32(0.01), out=scratch)
        return rows

    return prepare


def asleep(milliseconds: float) -> Callable[[], Batch]:
    """Return a preparation that sleeps, as one does that waits for storage."""
    rows = np.random.default_rng(0).standard_normal((ROWS, FEATURES), dtype=np.float32)

    def prepare() -> Batch:
        time.sleep(milliseconds * 1e-3)
        return rows

    return prepare


def prepared_inline(prepare: Callable[[], Batch]) -> Workload:
    """Prepare each batch before the step that needs it."""
    model = tower(DEPTH, WIDTH, inputs=FEATURES)

    def step() -> None:
        batch = torch.from_numpy(prepare()).pin_memory()
        with torch.inference_mode():
            model(batch.to(DEVICE, non_blocking=True).bfloat16())

    return Workload(step)


def fed() -> Workload:
    """Take batches that lie ready in pinned memory."""
    model = tower(DEPTH, WIDTH, inputs=FEATURES)
    ready = itertools.cycle([torch.randn(ROWS, FEATURES).pin_memory() for _ in range(8)])

    def step() -> None:
        with torch.inference_mode():
            model(next(ready).to(DEVICE, non_blocking=True).bfloat16())

    return Workload(step)


class Photos(IterableDataset[Tensor]):
    """Endless random photographs: cropped, mirrored, scaled and normalised in numpy."""

    def __iter__(self) -> Iterator[Tensor]:
        """Yield images (3, 224, 224)."""
        random = np.random.default_rng(0)
        photo = random.integers(0, 256, (_IMAGE, _IMAGE, 3), dtype=np.uint8)
        mean = np.array([0.485, 0.456, 0.406], dtype=np.float32)
        deviation = np.array([0.229, 0.224, 0.225], dtype=np.float32)
        while True:
            top, left = random.integers(0, _IMAGE - _CROP, 2)
            crop = photo[top : top + _CROP, left : left + _CROP]
            if random.random() < 1 / 2:
                crop = crop[:, ::-1]
            scaled = (crop.astype(np.float32) / 255 - mean) / deviation
            yield torch.from_numpy(np.ascontiguousarray(scaled.transpose(2, 0, 1)))


def patches() -> nn.Module:
    """Return the model that the photographs feed."""
    with torch.device(DEVICE):
        return half(PatchTower(16, 3072))


def loaded(workers: int) -> Workload:
    """Take batches from a DataLoader: in this process, or in ``workers`` others."""
    model = patches()
    loader = DataLoader(
        Photos(),
        batch_size=_BATCH,
        num_workers=workers,
        pin_memory=True,
        prefetch_factor=4 if workers else None,
    )
    batches = iter(loader)

    def step() -> None:
        images = next(batches).to(DEVICE, non_blocking=True)
        with torch.inference_mode():
            model(images)

    return Workload(step)


def loaded_before() -> Workload:
    """Take batches of photographs that lie ready in pinned memory."""
    model = patches()
    photos = iter(Photos())
    ready = itertools.cycle(
        [torch.stack([next(photos) for _ in range(_BATCH)]).pin_memory() for _ in range(4)]
    )

    def step() -> None:
        images = next(ready).to(DEVICE, non_blocking=True)
        with torch.inference_mode():
            model(images)

    return Workload(step)


def _starved(name: str, prepare: Callable[[], Batch], remark: str = "") -> Case:
    return Case(
        f"starved.{name}",
        functools.partial(prepared_inline, prepare),
        top="host-starved",
        twin="starved.fed",
        remark=remark,
    )


_EITHER = (
    "Launching takes the host more than half as long as preparing: curing the launches alone,"
    " which was not measured, should bring nearly as much."
)
_SLOW_COPY = (
    "In the recording, and not outside it, pin_memory's threaded copy of 1.3 MB takes 3 to 7 ms."
)

GROUPS = (
    Group(
        "starved",
        (
            Case("starved.fed", fed, not_top=HOST_CAUSES),
            _starved("busy_1ms", busy(1), _EITHER),
            _starved("busy_2ms", busy(2)),
            _starved("busy_10ms", busy(10)),
            _starved("sleep_3ms", asleep(3), _SLOW_COPY),
        ),
    ),
    Group(
        "loader",
        (
            Case(
                "loader.workers_0",
                functools.partial(loaded, 0),
                top="host-starved",
                twin="loader.fed",
            ),
            Case(
                "loader.workers_8",
                functools.partial(loaded, 8),
                top="host-starved",
                twin="loader.fed",
                remark="Eight workers cannot keep up, and the thread that pins joins in.",
            ),
            Case("loader.fed", loaded_before, not_top=HOST_CAUSES),
        ),
    ),
)
