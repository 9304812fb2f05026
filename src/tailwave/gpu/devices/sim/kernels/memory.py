"""Kernels that go to L2 and memory: latency idle and loaded, bandwidth by SM."""

from __future__ import annotations

import enum

import numpy as np

from tailwave.gpu.devices.sim import fabric
from tailwave.gpu.devices.sim.buffers import WORD_BYTES
from tailwave.gpu.devices.sim.kernels.call import Call
from tailwave.gpu.devices.sim.work import Placement, Work
from tailwave.model import Flags, Floats

TOUCHED_BYTES = 4096


class Role(enum.IntEnum):
    """What an SM does in the kernel `loaded`."""

    NONE = 0
    AGGRESSOR = 1
    VICTIM = 2


def chase(call: Call) -> Work:
    """Load lines one after the other on one SM; the least of the repeats has no noise left."""
    lines, repeats, sm = (call.integer(index) for index in (2, 3, 4))
    cycles = call.latency.cycles(sm, np.arange(lines))

    def finish(placement: Placement) -> None:
        if sm in placement.sm:
            call.words(0)[:lines] = np.rint(cycles).astype(np.uint64)

    there = np.arange(call.topology.sm_count) == sm
    return Work(call.on(there, call.chip.ns(repeats * float(cycles.sum()))), finish)


def read(call: Call) -> Work:
    """Stream data from L2, or from memory where it is too much for L2."""
    return _stream(call, write=False)


def write(call: Call) -> Work:
    """Stream data to L2, or to memory where it is too much for L2."""
    return _stream(call, write=True)


def loaded(call: Call) -> Work:
    """Chase on one SM while others stream; the waits at shared ports are exponential."""
    samples = call.integer(3)
    roles = call.words(4)[: call.topology.sm_count]
    victims = np.flatnonzero((roles == Role.VICTIM) & call.allowed)
    streams = (roles == Role.AGGRESSOR) & call.allowed
    if len(victims) == 0:
        return Work(call.everywhere(0.0))
    cycles = _loaded_cycles(call, int(victims[0]), streams, samples)

    def finish(placement: Placement) -> None:
        out = call.words(0)
        out[:samples] = np.rint(cycles).astype(np.uint64)
        out[samples] = len(np.intersect1d(placement.sm, np.flatnonzero(streams)))

    busy = streams | (roles == Role.VICTIM)
    return Work(call.on(busy, call.chip.ns(float(cycles.sum()))), finish)


def touch(call: Call) -> Work:
    """Read a word of every page: misses, of which an SM has as many under way as it can."""
    pages = -(-call.integer(2) * WORD_BYTES // TOUCHED_BYTES)
    line = call.chip.latency.line_bytes
    at_once = call.chip.ports.in_flight_bytes // line
    cycles = call.chip.latency.memory_cycles * -(-pages // at_once)

    def finish(_: Placement) -> None:
        call.words(0)[0] = pages

    return Work(call.everywhere(call.chip.ns(cycles)), finish)


def _stream(call: Call, *, write: bool) -> Work:
    nbytes, passes = call.integer(2) * WORD_BYTES, call.integer(3)
    active = call.selected(4)
    rate = fabric.streaming(call.chip, call.topology, active, working_set=nbytes, write=write)
    cycles = np.zeros(call.topology.sm_count)
    cycles[active] = call.chip.latency.mean_cycles + nbytes * passes / rate[active]
    ns = cycles * 1000 / call.chip.clock.mhz

    def finish(placement: Placement) -> None:
        write_spans(call, placement, active, np.full(len(active), nbytes * passes), ns)

    return Work(call.on(active, ns), finish)


def write_spans(call: Call, placement: Placement, active: Flags, done: Floats, ns: Floats) -> None:
    """Write at four words per SM: what it did, start, end, cycles; all start with the last."""
    sms = np.unique(placement.sm[active[placement.sm]])
    if len(sms) == 0:
        return
    start = float(placement.start[active[placement.sm]].max())
    out = call.words(0)[: 4 * len(active)].reshape(-1, 4)
    out[sms, 0] = done[sms].astype(np.uint64)
    out[sms, 1] = call.ticks(np.full(len(sms), start))
    out[sms, 2] = call.ticks(start + ns[sms])
    out[sms, 3] = call.cycles(ns[sms])


def _loaded_cycles(call: Call, victim: int, streams: Flags, samples: int) -> Floats:
    lines = len(call.words(1)) * WORD_BYTES // call.chip.latency.line_bytes
    idle = call.latency.cycles(victim, np.arange(samples) % max(lines, 1))
    wait = fabric.queueing_cycles(call.chip, call.topology, streams, victim)
    return np.asarray(idle + call.rng.exponential(wait, samples))
