"""Steps that copy between host and GPU: in the way, or beside the computation."""

from __future__ import annotations

import functools
import itertools
from typing import cast

import torch
from torch import Tensor, nn

from benchmarks.workloads.cases import DEVICE, HOST_CAUSES, Case, Group, Workload
from benchmarks.workloads.models import noise, tower

WIDTH = 2048
_ROW_BYTES = 2 * WIDTH
_MEBIBYTE = 1 << 20
# So that the GPU computes for about as long whatever the size of the batch.
_DEPTH = {16: 32, 64: 8}


def _model_and_rows(mebibytes: int) -> tuple[nn.Module, int]:
    return tower(_DEPTH[mebibytes], WIDTH), mebibytes * _MEBIBYTE // _ROW_BYTES


def _batches(rows: int, *, pinned: bool) -> itertools.cycle[Tensor]:
    made = [torch.ones((rows, WIDTH), dtype=torch.bfloat16) for _ in range(4)]
    return itertools.cycle([batch.pin_memory() for batch in made] if pinned else made)


def to_gpu(mebibytes: int, *, pinned: bool, wait: bool) -> Workload:
    """Copy the batch, then compute on it, all on one stream."""
    model, rows = _model_and_rows(mebibytes)
    batches = _batches(rows, pinned=pinned)

    def step() -> None:
        batch = next(batches).to(DEVICE, non_blocking=not wait)
        with torch.inference_mode():
            model(batch)

    return Workload(step)


def overlapped_to_gpu(mebibytes: int) -> Workload:
    """Copy the next batch from pinned memory on a second stream while computing on this one."""
    model, rows = _model_and_rows(mebibytes)
    batches = _batches(rows, pinned=True)
    side = torch.cuda.Stream()
    buffers = [noise(rows, WIDTH) for _ in range(2)]
    free = [torch.cuda.Event() for _ in range(2)]
    turns = itertools.cycle((0, 1))

    def step() -> None:
        turn = next(turns)
        main = torch.cuda.current_stream()
        main.wait_stream(side)
        with torch.cuda.stream(side):
            side.wait_event(free[1 - turn])
            buffers[1 - turn].copy_(next(batches), non_blocking=True)
        with torch.inference_mode():
            model(buffers[turn])
        free[turn].record(main)

    return Workload(step)


def from_gpu(mebibytes: int) -> Workload:
    """Bring the activations to pageable memory after each step."""
    model, rows = _model_and_rows(mebibytes)
    batch = noise(rows, WIDTH)

    def step() -> None:
        with torch.inference_mode():
            model(batch).cpu()

    return Workload(step)


def overlapped_from_gpu(mebibytes: int) -> Workload:
    """Bring the activations to pinned memory on a second stream while the next step computes."""
    model, rows = _model_and_rows(mebibytes)
    batch = noise(rows, WIDTH)
    side = torch.cuda.Stream()
    targets = [torch.ones((rows, WIDTH), dtype=torch.bfloat16).pin_memory() for _ in range(2)]
    filled = [torch.cuda.Event() for _ in range(2)]
    turns = itertools.cycle((0, 1))

    def step() -> None:
        turn = next(turns)
        with torch.inference_mode():
            out = cast("Tensor", model(batch))
        filled[turn].synchronize()  # the host has used what it got two steps ago
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            targets[turn].copy_(out, non_blocking=True)
            filled[turn].record(side)
        out.record_stream(side)

    return Workload(step)


_IN_STREAM = "The host never waits: the copy stands in the way on the GPU, in the kernels' stream."


def _to_gpu(name: str, mebibytes: int, *, pinned: bool, wait: bool) -> Case:
    return Case(
        f"h2d_{mebibytes}mb.{name}",
        functools.partial(to_gpu, mebibytes, pinned=pinned, wait=wait),
        top="blocking-copy",
        twin=f"h2d_{mebibytes}mb.overlapped",
        remark="" if wait else _IN_STREAM,
    )


def _overlapped_to_gpu(mebibytes: int) -> Case:
    return Case(
        f"h2d_{mebibytes}mb.overlapped",
        functools.partial(overlapped_to_gpu, mebibytes),
        not_top=HOST_CAUSES,
    )


GROUPS = (
    Group("h2d_16mb", (_to_gpu("pageable", 16, pinned=False, wait=True), _overlapped_to_gpu(16))),
    Group(
        "h2d_64mb",
        (
            _to_gpu("pageable", 64, pinned=False, wait=True),
            _to_gpu("pinned_waited", 64, pinned=True, wait=True),
            _to_gpu("pinned_serial", 64, pinned=True, wait=False),
            _overlapped_to_gpu(64),
        ),
    ),
    Group(
        "d2h_16mb",
        (
            Case(
                "d2h_16mb.pageable",
                functools.partial(from_gpu, 16),
                top="blocking-copy",
                twin="d2h_16mb.overlapped",
            ),
            Case(
                "d2h_16mb.overlapped",
                functools.partial(overlapped_from_gpu, 16),
                not_top=HOST_CAUSES,
            ),
        ),
    ),
)
