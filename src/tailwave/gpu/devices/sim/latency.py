"""Latency of an L2 hit, by SM and line, on an idle chip.

``latency = mean + a(SM) + partition(SM, slice) + fingerprint(SM, slice) + b(line)``: ``a`` grows
along the TPCs of a CPC, the partition term is less for slices on the SM's side and more on the
other, and the fingerprint is drawn once for a chip, by site, ring (a GPC's first CPC, or the
others), CPC and GPC: the structure that the measured matrix shows.
"""

from __future__ import annotations

import numpy as np

from tailwave.gpu.devices.sim.chip import Chip
from tailwave.gpu.devices.sim.topology import Topology
from tailwave.model import Floats, Ints

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
