"""Where the SMs of a chip lie: their TPC, CPC and GPC, and which of them a cluster can join."""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.gpu.devices.sim.chip import Layout
from tailwave.model import Ints


class Topology(msgspec.Struct, frozen=True):
    """One entry per SM (by ``%smid``), but for the lists at the end.

    ``position`` counts TPCs from the last of a CPC to the first. ``order`` is the order in which
    an empty chip gets its first wave; ``domains`` are the SMs that a cluster can be placed on.
    """

    tpc: Ints
    cpc: Ints  # within the GPC
    gpc: Ints
    position: Ints
    side: Ints  # the L2 partition that is near
    site: Ints
    order: Ints
    domains: tuple[Ints, ...]

    @property
    def sm_count(self) -> int:
        """The number of SMs."""
        return len(self.tpc)


def build(layout: Layout) -> Topology:
    """Lay out the SMs; raises ValueError when the TPCs are not numbered 0, 1, 2..."""
    places = sorted(
        (tpc, number, cpc, len(tpcs) - 1 - index)
        for number, gpc in enumerate(layout.gpcs)
        for cpc, tpcs in enumerate(gpc.cpcs)
        for index, tpc in enumerate(tpcs)
    )
    if [place[0] for place in places] != list(range(len(places))):
        raise ValueError("the TPCs of a chip are numbered from 0 without a gap, each once")
    tpc, gpc, cpc, position = np.repeat(
        np.array(places, dtype=np.int64).T, layout.sms_per_tpc, axis=1
    )
    return Topology(
        tpc=tpc,
        cpc=cpc,
        gpc=gpc,
        position=position,
        side=np.array([layout.gpcs[g].side for g in gpc]),
        site=np.array([layout.gpcs[g].site for g in gpc]),
        order=_first_wave(tpc, gpc, layout),
        domains=_domains(tpc, gpc, layout.leftover_tpcs),
    )


def _first_wave(tpc: Ints, gpc: Ints, layout: Layout) -> Ints:
    """Order the SMs as an empty chip is filled: some TPCs first, then GPC after GPC."""
    after = len(layout.first_wave_gpcs)
    rank = np.full(len(tpc), after)
    for place, one in enumerate(layout.first_wave_gpcs):
        rank[gpc == one] = place
    rank[np.isin(tpc, layout.first_wave_tpcs)] = -1
    return np.lexsort((tpc, rank))


def _domains(tpc: Ints, gpc: Ints, leftover: tuple[int, ...]) -> tuple[Ints, ...]:
    """Return the SMs that clusters join: those of a GPC without leftovers; a leftover TPC's own."""
    left = np.isin(tpc, leftover)
    whole = [np.flatnonzero((gpc == one) & ~left) for one in np.unique(gpc)]
    return (*whole, *(np.flatnonzero(tpc == one) for one in leftover))
