"""Triton kernels whose grid, occupancy and length are known exactly."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from benchmarks.workloads.cases import DEVICE, Step

if TYPE_CHECKING:
    from collections.abc import Callable

SM_COUNT = 132
_SM_THREADS, _SM_REGISTERS, _SM_SHARED, _SM_CTAS = 2048, 65536, 233472, 32
_CTA_SHARED = 1024  # what the driver keeps of each CTA's shared memory


@triton.jit
def gemm(  # noqa: PLR0913 - a kernel takes pointers and sizes one by one
    a: tl.tensor,
    b: tl.tensor,
    c: tl.tensor,
    n: tl.tensor,
    k: tl.tensor,
    block_m: tl.constexpr,
    block_n: tl.constexpr,
    block_k: tl.constexpr,
    parts: tl.constexpr,
) -> None:
    """C = A B, one CTA a tile; with ``parts`` > 1 that many CTAs share the tile's depth."""
    tile, part = tl.program_id(0), tl.program_id(1)
    across = n // block_n
    rows = tile // across * block_m + tl.arange(0, block_m)
    columns = tile % across * block_n + tl.arange(0, block_n)
    share = k // parts
    depth = part * share + tl.arange(0, block_k)
    left = a + rows[:, None] * k + depth[None, :]
    right = b + depth[:, None] * n + columns[None, :]
    total = tl.zeros((block_m, block_n), dtype=tl.float32)
    for _ in range(share // block_k):
        total = tl.dot(tl.load(left), tl.load(right), total)
        left += block_k
        right += block_k * n
    out = c + rows[:, None] * n + columns[None, :]
    if parts > 1:
        tl.atomic_add(out, total)
    else:
        tl.store(out, total)


@triton.jit
def chase(
    links: tl.tensor,
    out: tl.tensor,
    hops: tl.tensor,
    lanes: tl.constexpr,
) -> None:
    """Follow a chain of loads: as slow with one CTA on the SM as with eight."""
    at = tl.load(links + tl.program_id(0))
    for _ in range(hops):
        at = tl.load(links + at)
    tl.store(out + tl.program_id(0) * lanes + tl.arange(0, lanes), at + tl.arange(0, lanes))


@triton.jit
def multiply(
    out: tl.tensor,
    rounds: tl.tensor,
    lanes: tl.constexpr,
) -> None:
    """Multiply-add in a chain: CTAs that share an SM share its issue slots."""
    x = tl.arange(0, lanes).to(tl.float32)
    for _ in range(rounds):
        x = x * 0.999 + 0.001
    tl.store(out + tl.program_id(0) * lanes + tl.arange(0, lanes), x)


@dataclasses.dataclass(frozen=True)
class Tile:
    """A tile of the matrix product and the resources that go with it."""

    m: int
    n: int
    k: int
    warps: int
    stages: int


LARGE = Tile(128, 256, 64, 8, 3)  # its shared memory leaves room for one CTA an SM
SMALL = Tile(64, 64, 64, 4, 2)  # several CTAs an SM


def per_sm(compiled: Any, threads: int) -> int:  # noqa: ANN401 - Triton's own handle
    """Return how many CTAs of a compiled kernel fit on one SM."""
    registers = -(-int(compiled.n_regs) // 8) * 8
    shared = int(compiled.metadata.shared) + _CTA_SHARED
    return min(
        _SM_CTAS,
        _SM_THREADS // threads,
        _SM_REGISTERS // (registers * threads),
        _SM_SHARED // shared,
    )


class Product:
    """A matrix product of ``down`` x ``across`` tiles, launched as often as asked."""

    def __init__(self, down: int, across: int, depth: int, tile: Tile, parts: int = 1) -> None:
        """Allocate operands for the grid."""
        self.tile, self.parts, self.grid = tile, parts, (down * across, parts)
        self.n, self.k = across * tile.n, depth
        self.a = torch.randn((down * tile.m, depth), device=DEVICE, dtype=torch.bfloat16)
        self.b = torch.randn((depth, self.n), device=DEVICE, dtype=torch.bfloat16)
        kind = torch.float32 if parts > 1 else torch.bfloat16
        self.c = torch.zeros((down * tile.m, self.n), device=DEVICE, dtype=kind)

    def launch(self) -> Any:  # noqa: ANN401
        """Launch once; return the compiled kernel."""
        if self.parts > 1:
            self.c.zero_()
        tile = self.tile
        return gemm[self.grid](
            self.a,
            self.b,
            self.c,
            self.n,
            self.k,
            block_m=tile.m,
            block_n=tile.n,
            block_k=tile.k,
            parts=self.parts,
            num_warps=tile.warps,
            num_stages=tile.stages,
        )


def repeated(launch: Step, times: int) -> Step:
    """Return a step that launches ``times`` in a row."""

    def step() -> None:
        for _ in range(times):
            launch()

    return step


LANES = 256
_WARPS = LANES // 32


def chasing(extra: int, hops: int = 800) -> Step:
    """Return a launch of whole waves of pointer chasing, and ``extra`` CTAs more."""
    links = torch.randperm(1 << 21, device=DEVICE, dtype=torch.int32)

    def launch(grid: int, out: Tensor) -> Any:  # noqa: ANN401
        return chase[(grid,)](links, out, hops, lanes=LANES, num_warps=_WARPS)

    return _over_whole_waves(launch, torch.int32, extra)


def multiplying(extra: int, rounds: int = 8000) -> Step:
    """Return a launch of whole waves of multiply-adds, and ``extra`` CTAs more."""

    def launch(grid: int, out: Tensor) -> Any:  # noqa: ANN401
        return multiply[(grid,)](out, rounds, lanes=LANES, num_warps=_WARPS)

    return _over_whole_waves(launch, torch.float32, extra)


def _over_whole_waves(launch: Callable[[int, Tensor], Any], dtype: torch.dtype, extra: int) -> Step:
    compiled = launch(1, torch.zeros(LANES, device=DEVICE, dtype=dtype))
    grid = SM_COUNT * per_sm(compiled, LANES) + extra
    out = torch.zeros(grid * LANES, device=DEVICE, dtype=dtype)
    return lambda: launch(grid, out)


def small_tiles(extra_columns: int, depth: int = 4096) -> Product:
    """Return a product of small tiles in one whole wave, and ``extra_columns`` of 12 tiles more."""
    probe = Product(1, 1, depth, SMALL)
    fit = per_sm(probe.launch(), SMALL.warps * 32)
    return Product(12, SM_COUNT // 12 * fit + extra_columns, depth, SMALL)
