"""Kernels that stay within an SM: its warp schedulers, its barrier, its shared memory."""

from __future__ import annotations

import enum

import numpy as np

from tailwave.gpu.devices.sim.chip import Chip
from tailwave.gpu.devices.sim.kernels.call import Call
from tailwave.gpu.devices.sim.work import WARP, Placement, Work
from tailwave.model import Ints


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
    ctas, warps = call.resident, -(-call.launch.block // WARP)
    one = iteration_cycles(call.chip, Kind(call.integer(1)), warps, ctas)
    cycles = call.integer(2) * one
    later = call.chip.issue.further_cta_cycles

    def finish(placement: Placement) -> None:
        out = call.words(0)[: 3 * len(placement.sm)].reshape(-1, 3)
        starts = placement.start * call.chip.cycles(1) + later * (_turns(placement.sm) % ctas)
        out[:, 0] = placement.sm
        out[:, 1] = np.rint(starts)
        out[:, 2] = np.rint(starts + cycles)

    return Work(call.everywhere(call.chip.ns(cycles + (ctas - 1) * later)), finish)


def banks(call: Call) -> Work:
    """Go to shared memory again and again, by one warp."""
    one = access_cycles(call.chip, call.integer(1), Mode(call.integer(3)))
    cycles = call.integer(2) * one

    def finish(placement: Placement) -> None:
        out = call.words(0)[: 2 * len(placement.sm)].reshape(-1, 2)
        out[:, 0] = placement.sm
        out[:, 1] = round(cycles)

    return Work(call.everywhere(call.chip.ns(cycles)), finish)


def iteration_cycles(chip: Chip, kind: Kind, warps: int, ctas: int = 1) -> float:
    """Return the cycles of one iteration by all warps of some equal CTAs on one SM.

    A scheduler issues one instruction a cycle, to its warps by turns, and the loop's own now and
    then; a dependent one waits for the one before, unless the other warps fill that time. So does
    a barrier of one CTA wait for its warps, and what the SM does for each of them is not done for
    two CTAs at once.
    """
    costs = chip.issue
    issuing = costs.fma_cycles * -(-warps * ctas // costs.schedulers)
    arriving = costs.barrier_warp_cycles * warps
    return {
        Kind.INDEPENDENT_FMA: issuing,
        Kind.DEPENDENT_FMA: max(costs.fma_latency_cycles, issuing),
        Kind.NANOSLEEP: costs.nanosleep_cycles,
        Kind.BARRIER: max(costs.barrier_cycles + arriving, ctas * arriving),
    }[kind]


def _turns(sms: Ints) -> Ints:
    """Number the CTAs of each SM: 0 for its first, 1 for its next."""
    order = np.argsort(sms, kind="stable")
    first = np.searchsorted(sms[order], sms[order])
    turns = np.empty_like(order)
    turns[order] = np.arange(len(sms)) - first
    return turns


def access_cycles(chip: Chip, stride: int, mode: Mode) -> float:
    """Return the cycles of one access to shared memory by a warp.

    Loads wait for each other, so further ways add to their latency; stores queue up, so that one
    takes as long as the banks do or as it takes to issue, whichever is longer.
    """
    ways = bank_ways(chip, stride, mode)
    if mode is Mode.STORE:
        return max(chip.shared.store_cycles, ways * chip.shared.way_cycles)
    return chip.shared.load_cycles + (ways - 1) * chip.shared.way_cycles


def bank_ways(chip: Chip, stride: int, mode: Mode) -> int:
    """Return how many different words the busiest bank is asked for by one warp."""
    lanes, banks_there = np.arange(WARP), chip.shared.banks
    words = lanes * stride
    if mode is Mode.PADDED:
        words = words + words // banks_there
    elif mode is Mode.SWIZZLED:
        words = words ^ (words // banks_there % banks_there)
    return int(np.bincount(np.unique(words) % banks_there).max())
