"""Kernels whose grid fills the SMs badly, beside the same work in whole waves."""

from __future__ import annotations

import functools
from collections.abc import Callable

from benchmarks.workloads.cases import HOST_CAUSES, Case, Group, Step, Workload
from benchmarks.workloads.kernels import (
    LARGE,
    Product,
    chasing,
    multiplying,
    repeated,
    small_tiles,
)

LAUNCHES = 6


def tiles(down: int, across: int, depth: int = 8192, parts: int = 1) -> Workload:
    """Multiply matrices of ``down`` x ``across`` tiles, one CTA an SM."""
    return Workload(repeated(Product(down, across, depth, LARGE, parts).launch, LAUNCHES))


def many_tiles(extra_columns: int) -> Workload:
    """Multiply matrices of small tiles, several CTAs an SM."""
    return Workload(repeated(small_tiles(extra_columns).launch, LAUNCHES))


def shared(make: Callable[[int], Step], extra: int) -> Workload:
    """Launch eight CTAs an SM."""
    return Workload(repeated(make(extra), LAUNCHES))


_PART_OF_A_WAVE = "The last wave takes about {}% of a full one: the cure brings no more than that."


def _tail(name: str, down: int, across: int, twin: str) -> Case:
    return Case(
        name,
        functools.partial(tiles, down, across),
        top="wave-tail",
        twin=twin,
        remark=_PART_OF_A_WAVE.format(70),
    )


def _whole(name: str, build: Callable[[], Workload]) -> Case:
    return Case(name, build, not_top=HOST_CAUSES)


def _pair(
    kind: str, tail: Callable[[], Workload], whole: Callable[[], Workload], percent: int
) -> tuple[Case, Case]:
    name = f"wave_{kind}"
    return (
        Case(
            f"{name}.tail",
            tail,
            top="wave-tail",
            twin=f"{name}.whole",
            remark=_PART_OF_A_WAVE.format(percent),
        ),
        _whole(f"{name}.whole", whole),
    )


def _small(ctas: int, down: int, across: int, parts: int) -> tuple[Case, Case]:
    name, deep = f"small_grid_{ctas}", 16384
    whole = functools.partial(tiles, down, across, deep)
    split = functools.partial(tiles, down, across, deep, parts)
    return (
        Case(f"{name}.whole_depth", whole, top="small-grid", twin=f"{name}.split_depth"),
        _whole(f"{name}.split_depth", split),
    )


GROUPS = (
    Group(
        "waves",
        (
            _tail("wave_gemm.133", 7, 19, "wave_gemm.132"),
            _tail("wave_gemm.140", 10, 14, "wave_gemm.132"),
            _whole("wave_gemm.132", functools.partial(tiles, 11, 12)),
            _tail("wave_gemm.268", 4, 67, "wave_gemm.264"),
            _whole("wave_gemm.264", functools.partial(tiles, 11, 24)),
        ),
    ),
    Group(
        "waves_shared",
        (
            *_pair("tiles", functools.partial(many_tiles, 1), functools.partial(many_tiles, 0), 32),
            *_pair(
                "chase",
                functools.partial(shared, chasing, 66),
                functools.partial(shared, chasing, 0),
                84,
            ),
            *_pair(
                "multiply",
                functools.partial(shared, multiplying, 66),
                functools.partial(shared, multiplying, 0),
                12,
            ),
        ),
    ),
    Group("small_grid", (*_small(16, 4, 4, 8), *_small(33, 3, 11, 4), *_small(66, 6, 11, 2))),
)
