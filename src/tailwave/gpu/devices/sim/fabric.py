"""The way from SMs to L2: its latency on an idle chip, then bandwidth and queueing on a busy one.

``latency = mean + a(SM) + partition(SM, slice) + fingerprint(SM, slice) + b(line)``: ``a`` grows
along the TPCs of a CPC, the partition term is less for slices on the SM's side and more on the
other, and the fingerprint is drawn once for a chip, by site, ring (a GPC's first CPC, or the
others), CPC and GPC: the structure that the measured matrix shows. Bandwidth goes through the ports
of SMs, TPCs and GPCs, then L2, then memory.
"""

from __future__ import annotations

import numpy as np

from tailwave.gpu.devices.sim.chip import Chip
from tailwave.gpu.devices.sim.topology import Topology
from tailwave.model import Flags, Floats, Ints

# Knuth's multiplicative hash: consecutive lines fall on slices that look drawn by lot.
_HASH = 2654435761


class L2Latency:
    """The latencies of one chip, the same for the same seed."""

    def __init__(self, chip: Chip, topology: Topology) -> None:
        """Draw the chip's fingerprint."""
        self._latency = chip.latency
        self._seed = chip.seed
        self._by_slice = self._sm_terms(topology)[:, None] + self._slice_terms(topology)

    def cycles(self, sm: int, lines: Ints) -> Floats:
        """Return the latency of lines, by their index in a buffer, from one SM."""
        return np.asarray(self._by_slice[sm, self.slices(lines)] + self._line_terms(lines))

    def slices(self, lines: Ints) -> Ints:
        """Return the slice that holds each line."""
        return self._scatter(lines, self._latency.slices)

    @staticmethod
    def _scatter(lines: Ints, count: int) -> Ints:
        hashed = (lines.astype(np.uint64) * np.uint64(_HASH)) & np.uint64(0xFFFFFFFF)
        return ((hashed >> np.uint64(8)) % np.uint64(count)).astype(np.int64)

    def _sm_terms(self, topology: Topology) -> Floats:
        steps = self._latency.tpc_step_cycles * topology.position
        terms = np.array(self._latency.cpc_cycles)[topology.cpc] + steps
        return np.asarray(self._latency.mean_cycles + terms - terms.mean())

    def _slice_terms(self, topology: Topology) -> Floats:
        latency = self._latency
        rng = np.random.default_rng(self._seed)
        half = np.array(latency.partition_cycles)[topology.cpc]
        other = topology.side[:, None] != np.arange(latency.slices)[None] % 2
        ring = np.minimum(topology.cpc, 1)
        terms = np.where(other, half[:, None], -half[:, None])
        for deviation, keys in (
            (latency.site_sd_cycles, (topology.site,)),
            (latency.ring_sd_cycles, (topology.site, ring)),
            (latency.cpc_sd_cycles, (topology.site, topology.cpc)),
            (latency.gpc_sd_cycles, (topology.gpc, topology.cpc)),
        ):
            _, group = np.unique(np.stack(keys), axis=1, return_inverse=True)
            drawn = rng.normal(0.0, deviation, (int(group.max()) + 1, latency.slices))
            terms += drawn[group.ravel()]
        return terms

    def _line_terms(self, lines: Ints) -> Floats:
        """Draw the lines' own terms from a table, so that a line keeps its own at every call."""
        table = np.random.default_rng(self._seed + 1).normal(0, self._latency.line_sd_cycles, 4096)
        return np.asarray(table[lines % len(table)])


def shares(chip: Chip, topology: Topology, active: Flags, *, write: bool) -> Floats:
    """Return what each SM gets when the active ones stream data in L2, in bytes per cycle.

    Each SM asks for what its own port lets through; every port on the way that is asked for more
    than it has cuts all that pass it by the same factor.
    """
    ports = chip.ports
    rate = np.where(active, ports.sm_write if write else ports.sm_read, 0.0)
    for group, capacity in (
        (topology.tpc, ports.tpc_write if write else ports.tpc_read),
        (topology.gpc, ports.gpc_write if write else ports.gpc_read),
        (np.zeros_like(topology.gpc), ports.l2_write if write else ports.l2_read),
    ):
        asked = np.bincount(group, rate)
        rate = rate * np.minimum(1.0, capacity / np.maximum(asked, capacity))[group]
    return np.asarray(rate)


def hit_share(chip: Chip, working_set: int) -> float:
    """Return the share of accesses that hit in L2 when a working set (bytes) is streamed through.

    All hit up to one size and none from another; between them the share falls in a line.
    """
    ports = chip.ports
    span = ports.no_hit_bytes - ports.all_hit_bytes
    return float(np.clip((ports.no_hit_bytes - working_set) / span, 0.0, 1.0))


def streaming(
    chip: Chip, topology: Topology, active: Flags, *, working_set: int, write: bool
) -> Floats:
    """Return what each SM gets when the active ones stream a working set, in bytes per cycle.

    Hits and misses follow each other, so their times add: misses take longer by as much as the
    active SMs together ask for more than memory gives.
    """
    rate = shares(chip, topology, active, write=write)
    hits = hit_share(chip, working_set)
    slower = max(1.0, float(rate.sum()) / chip.ports.memory)
    return np.asarray(rate / (hits + (1.0 - hits) * slower))


def queueing_cycles(chip: Chip, topology: Topology, streaming_sms: Flags, victim: int) -> float:
    """Return the mean wait of one access of an SM while others stream, in cycles.

    At a port with load to spare (its TPC's, its GPC's, L2's) the wait is that of an M/D/1 queue,
    ``service / 2 * load / (1 - load)`` with one burst as the service. Ports that are asked for
    more than they have hold, at the narrowest, all that the streaming SMs keep under way, less
    what is under way elsewhere because an access takes its time even without a queue; no queue
    is longer than that.
    """
    ports = chip.ports
    waits, full = 0.0, 0.0
    for group, capacity in (
        (topology.tpc, ports.tpc_read),
        (topology.gpc, ports.gpc_read),
        (np.zeros_like(topology.gpc), ports.l2_read),
    ):
        count = int((streaming_sms & (group == group[victim])).sum())
        half_service = ports.burst_cycles * ports.sm_read / capacity / 2
        backlog = count * ports.in_flight_bytes / capacity - chip.latency.mean_cycles
        most = half_service + max(0.0, backlog)
        load = count * ports.sm_read / capacity
        if load < 1:
            waits += min(half_service * load / (1 - load), most)
        else:
            full = max(full, most)
    return waits + full
