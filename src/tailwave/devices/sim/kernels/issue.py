"""Kernels that stay within an SM: its warp schedulers, its barrier, its shared memory."""

from __future__ import annotations

import enum

import numpy as np

from tailwave.devices.sim.chip import Chip
from tailwave.devices.sim.dispatch import WARP
from tailwave.devices.sim.kernels.call import Call
from tailwave.devices.sim.work import Placement, Work


class Kind(enum.IntEnum):
    """What the kernel `issue` repeats."""

    INDEPENDENT_FMA = 0
    DEPENDENT_FMA = 1
    NANOSLEEP = 2
    BARRIER = 3


class Mode(enum.IntEnum):
    """How the kernel `banks` goes to shared memory."""

    LOAD = 0
    STORE = 1
    PADDED = 2
    SWIZZLED = 3


def issue(call: Call) -> Work:
    """Repeat one thing in all warps; CTAs of one launch on one SM share its schedulers."""
    warps = call.resident * -(-call.launch.block // WARP)
    one = iteration_cycles(call.chip, Kind(call.integer(1)), warps)
    cycles = round(call.integer(2) * one)

    def finish(placement: Placement) -> None:
        out = call.words(0)[: 3 * len(placement.sm)].reshape(-1, 3)
        out[:, 0] = placement.sm
        out[:, 1] = np.rint(placement.start * call.chip.cycles(1))
        out[:, 2] = out[:, 1] + np.uint64(cycles)

    return Work(call.everywhere(call.chip.ns(cycles)), finish)


def banks(call: Call) -> Work:
    """Go to shared memory again and again, by one warp."""
    shared, mode = call.chip.shared, Mode(call.integer(3))
    ways = bank_ways(call.chip, call.integer(1), mode)
    first = shared.store_cycles if mode is Mode.STORE else shared.load_cycles
    cycles = call.integer(2) * (first + (ways - 1) * shared.way_cycles)

    def finish(placement: Placement) -> None:
        out = call.words(0)[: 2 * len(placement.sm)].reshape(-1, 2)
        out[:, 0] = placement.sm
        out[:, 1] = round(cycles)

    return Work(call.everywhere(call.chip.ns(cycles)), finish)


def iteration_cycles(chip: Chip, kind: Kind, warps: int) -> float:
    """Return the cycles of one iteration by all warps of an SM.

    A scheduler issues one instruction a cycle, to its warps by turns; a dependent one waits for
    the one before, unless the other warps fill that time.
    """
    turns = -(-warps // chip.issue.schedulers)
    return {
        Kind.INDEPENDENT_FMA: float(turns),
        Kind.DEPENDENT_FMA: max(chip.issue.fma_latency_cycles, turns),
        Kind.NANOSLEEP: chip.issue.nanosleep_cycles,
        Kind.BARRIER: chip.issue.barrier_cycles + chip.issue.barrier_warp_cycles * warps,
    }[kind]


def bank_ways(chip: Chip, stride: int, mode: Mode) -> int:
    """Return how many different words the busiest bank is asked for by one warp."""
    lanes, banks_there = np.arange(WARP), chip.shared.banks
    words = lanes * stride
    if mode is Mode.PADDED:
        words = words + words // banks_there
    elif mode is Mode.SWIZZLED:
        words = words ^ (words // banks_there % banks_there)
    return int(np.bincount(np.unique(words) % banks_there).max())
