"""Whom the ranks of a run wait for in their collectives.

A collective ends on all ranks at about one moment, and cannot end before the last of them has
begun it. So its time on a rank before the last one's beginning is waiting, not transfer. The
collectives are paired by their order from the end of the recordings, which begin at different
moments; clocks of different hosts are aligned by the moments at which the pairs end.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tailwave.model import Ints, Timeline
from tailwave.recordings.timeline.losses import communication

# A rank is late in a collective from so much on (ns): launches and clocks scatter by less.
_LATE_NS = 100_000


class RankWaits(msgspec.Struct, frozen=True):
    """How long each rank waited for the last one in each paired collective.

    ``rows`` are GPU rows, ``waited`` is time (ns); both have a line per rank and a column per
    collective. ``last`` is the place, among ``ranks``, of the rank that began each of them last.
    """

    ranks: tuple[int, ...]
    rows: Ints
    waited: Ints
    last: Ints

    @property
    def late(self) -> int:
        """The place of the rank that the others waited for the longest."""
        return int(np.argmax(np.bincount(self.last, weights=self.waited.max(axis=0))))

    def late_ns(self, rank: int) -> tuple[int, float]:
        """In how many collectives a rank was late, and by how much on average (ns)."""
        longest = self.waited.max(axis=0)
        late = (self.last == rank) & (longest > _LATE_NS)
        return int(late.sum()), float(longest[late].mean()) if late.any() else 0.0


def rank_waits(timelines: Sequence[Timeline]) -> RankWaits | None:
    """Pair the collectives of the ranks of a run; None where they are not of one sequence."""
    found = [np.flatnonzero(communication(timeline)) for timeline in timelines]
    count = min(map(len, found), default=0)
    if len(timelines) == 1 or count == 0:
        return None
    rows = np.stack([mine[len(mine) - count :] for mine in found])
    ours = list(zip(timelines, rows, strict=True))
    names = [[timeline.names[code] for code in timeline.gpu.name[row]] for timeline, row in ours]
    if any(name != names[0] for name in names):
        return None
    start = np.stack([timeline.gpu.start[row] for timeline, row in ours])
    end = np.stack([timeline.gpu.end[row] for timeline, row in ours])
    ahead = np.median(end - end[0], axis=1).astype(np.int64)[:, None]
    begun = start - ahead
    waited = np.clip(begun.max(axis=0) - begun, 0, end - start)
    ranks = tuple(timeline.rank for timeline in timelines)
    return RankWaits(ranks, rows, waited, np.argmax(begun, axis=0))
