"""Kernels in which SMs meet at a line: atomics, ping-pong, polling."""

from __future__ import annotations

import numpy as np

from tailwave.gpu.devices.sim.chip import Chip
from tailwave.gpu.devices.sim.kernels.call import Call
from tailwave.gpu.devices.sim.kernels.memory import write_spans
from tailwave.gpu.devices.sim.topology import Topology
from tailwave.gpu.devices.sim.work import Placement, Work
from tailwave.model import Flags, Floats, Ints


def atomics(call: Call) -> Work:
    """Add to a word of its own, or a shared one, on every selected SM."""
    stride, iterations = call.integer(2), call.integer(3)
    active = call.selected(4)
    rate = atomic_rates(call.chip, active, stride)
    done = np.full(len(active), iterations * call.launch.block)
    ns = np.zeros(len(active))
    ns[active] = done[active] / rate[active] * 1000 / call.chip.clock.mhz

    def finish(placement: Placement) -> None:
        write_spans(call, placement, active, done, ns)

    return Work(call.on(active, ns), finish)


def atomic_rates(chip: Chip, active: Flags, stride: int) -> Floats:
    """Return each SM's thread-operations per cycle, its word being at ``smid * stride`` bytes.

    A line serves one address faster than several, by turns; an SM has a limit of its own.
    """
    address = np.flatnonzero(active) * stride
    line = address // chip.latency.line_bytes
    rates = np.zeros(len(active))
    rates[active] = np.minimum(chip.atomics.sm_rate, _line_rates(chip, line, address))
    return rates


def _line_rates(chip: Chip, line: Ints, address: Ints) -> Floats:
    _, index, sharers = np.unique(line, return_inverse=True, return_counts=True)
    different = np.zeros(len(sharers), dtype=np.int64)
    distinct = np.unique(address)
    np.add.at(different, index[np.searchsorted(address, distinct)], 1)
    capacity = np.where(different > 1, chip.atomics.line_rate, chip.atomics.address_rate)
    return np.asarray((capacity / sharers)[index])


def round_trip_cycles(chip: Chip, topology: Topology, one: int, other: int) -> float:
    """Return the cycles that a line takes to go from one SM to another and back.

    The line stays in L2, so a partner in one's own TPC is no nearer than others of the GPC.
    """
    if topology.gpc[one] == topology.gpc[other]:
        return chip.sharing.same_gpc_cycles
    return chip.sharing.other_gpc_cycles


def pingpong(call: Call) -> Work:
    """Pass one line to and fro between two SMs."""
    rounds, one, other = (call.integer(index) for index in (2, 3, 4))
    cycles = rounds * round_trip_cycles(call.chip, call.topology, one, other)
    both = np.isin(np.arange(call.topology.sm_count), (one, other))

    def finish(placement: Placement) -> None:
        if np.isin((one, other), placement.sm).all():
            call.words(0)[0] = round(cycles)

    return Work(call.on(both, call.chip.ns(cycles)), finish)


def poll_ns(chip: Chip, pollers: int) -> float:
    """Return the time from a write until the last of some polling SMs has answered (ns).

    Each is somewhere in a read of its own when the write comes, so what it answers late is drawn
    by lot, and the latest of ``n`` is late by the sum of 1/2 to 1/n as much again.
    """
    later = sum(1 / place for place in range(2, pollers + 1))
    return chip.sharing.poll_ns + chip.sharing.poll_spread_ns * later


def poll(call: Call) -> Work:
    """Write on one SM, and wait until all that poll have answered."""
    rounds, writer = call.integer(2), call.integer(3)
    polling = call.selected(4)
    polling[writer] = False
    ns = poll_ns(call.chip, int(polling.sum()))

    def finish(_: Placement) -> None:
        call.words(0)[:rounds] = round(ns)

    polling[writer] = True
    return Work(call.on(polling, rounds * ns), finish)
