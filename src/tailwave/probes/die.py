"""Draws the map of a die: which SMs share a TPC, a CPC and a GPC, and how sure that is.

Two kinds of evidence are joined. A thread-block cluster never leaves its GPC, so SMs that were
seen in one cluster share a GPC, and chains of such pairs make groups. Full clusters never reach
the spare TPCs of larger GPCs; these are placed by their latency fingerprint, the row of cycles
from the SM to many L2 lines. SMs in like places of the die have like rows, however far from L2
they are on average, so the distance of two SMs is the standard deviation of the difference of
their rows: 0.35 cycles within a GPC and 0.6 to 1.0 between the most alike of two GPCs on an H200,
where Pearson's r is above 0.99 for both.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec
import numpy as np

from tailwave.model import Floats
from tailwave.probes.groups import components, linked

Clusters: TypeAlias = Mapping[int, Sequence[tuple[int, ...]]]

# Fewer SMs than this are one TPC, of which a cluster does not tell the GPC.
_LEAST_GROUP = 4
_TPC = 2
# Rows of one CPC differ by noise; those of two by several times that.
_CPC_GAP = 3.0
# Distances below this (cycles) are equal: latencies are whole cycles.
RESOLUTION = 0.2
_UNSURE = 0.5


class Place(msgspec.Struct, frozen=True):
    """Where an SM is; ``cpc`` counts within the whole die, None where CPCs do not show.

    ``confidence`` is 1 where both kinds of evidence agree, 0.5 where there is only that of clusters
    or they differ, and where there is only the fingerprint the probability that the group it is
    nearest to is nearer than the next.
    """

    sm: int
    tpc: int
    gpc: int
    cpc: int | None
    confidence: float


class Die(msgspec.Struct, frozen=True):
    """The places of all SMs, ascending by SM."""

    places: tuple[Place, ...]

    @property
    def gpcs(self) -> tuple[tuple[int, ...], ...]:
        """The SMs of each GPC."""
        return self._grouped([place.gpc for place in self.places])

    @property
    def tpcs(self) -> tuple[tuple[int, ...], ...]:
        """The SMs of each TPC."""
        return self._grouped([place.tpc for place in self.places])

    def _grouped(self, labels: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        sms: dict[int, list[int]] = {}
        for place, label in zip(self.places, labels, strict=True):
            sms.setdefault(label, []).append(place.sm)
        return tuple(tuple(sms[label]) for label in sorted(sms))

    def place(self, sm: int) -> Place:
        """Return the place of an SM."""
        return next(place for place in self.places if place.sm == sm)


def draw(sms: Sequence[int], clusters: Clusters, latencies: Floats) -> Die:
    """Join the clusters seen of each size with the latency rows (one per SM, in order)."""
    far = distances(latencies)
    tpcs = _tpcs(sms, clusters)
    rows_of = [[j for j, tpc in enumerate(tpcs) if tpc == own] for own in tpcs]
    known = dict(_labelled(_seeds(sms, clusters) or linked(far)[0]))
    gpcs = known | _placed(known, far, rows_of)
    cpcs = _cpcs(gpcs, far)
    near = [_nearness(rows_of[i], gpcs, far) for i in range(len(sms))]
    by_clusters = known if clusters else {}
    lines = latencies.shape[1]
    sure = [_confidence(near[i], gpcs[i], lines, seen=i in by_clusters) for i in range(len(sms))]
    return Die(tuple(Place(sm, tpcs[i], gpcs[i], cpcs.get(i), sure[i]) for i, sm in enumerate(sms)))


def distances(latencies: Floats) -> Floats:
    """Return how unlike the rows of each two SMs are (cycles).

    The variance of a difference is the sum of the variances less twice the covariance.
    """
    covariance = np.atleast_2d(np.cov(latencies, bias=True))
    variance = np.diag(covariance)
    squares = variance[:, None] + variance[None, :] - 2 * covariance
    found: Floats = np.sqrt(np.maximum(squares, RESOLUTION**2))
    np.fill_diagonal(found, 0.0)
    return found


def _seeds(sms: Sequence[int], clusters: Clusters) -> list[list[int]]:
    """Return the groups that clusters join, by row; pairs are left out."""
    row = {sm: i for i, sm in enumerate(sms)}
    joined = [[row[sm] for sm in group] for seen in clusters.values() for group in seen]
    return [group for group in components(len(sms), joined) if len(group) >= _LEAST_GROUP]


def _labelled(groups: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Number groups by their first SM."""
    ordered = sorted(groups, key=min)
    return [(member, label) for label, group in enumerate(ordered) for member in group]


def _twins(sms: Sequence[int], clusters: Clusters) -> dict[int, int]:
    """Return the row of the SM that each SM shares its TPC with, where clusters of two tell."""
    row = {sm: i for i, sm in enumerate(sms)}
    partners: dict[int, Counter[int]] = {}
    for one, other in clusters.get(_TPC, ()):
        partners.setdefault(row[one], Counter())[row[other]] += 1
        partners.setdefault(row[other], Counter())[row[one]] += 1
    only = {i: next(iter(seen)) for i, seen in partners.items() if len(seen) == 1}
    return {i: other for i, other in only.items() if only.get(other) == i}


def _placed(known: dict[int, int], far: Floats, rows_of: list[list[int]]) -> dict[int, int]:
    """Give each SM without a group that of the group nearest to its TPC."""
    placed = {}
    for i in sorted(set(range(len(far))) - set(known)):
        near = _nearness(rows_of[i], known, far)
        placed[i] = min(near, key=near.__getitem__)
    return placed


def _nearness(rows: Sequence[int], gpcs: Mapping[int, int], far: Floats) -> dict[int, float]:
    """Return the distance from some rows to the nearest other member of each group."""
    near: dict[int, float] = {}
    for member, label in gpcs.items():
        if member not in rows:
            distance = float(far[rows, member].mean())
            near[label] = min(distance, near.get(label, math.inf))
    return near


def _confidence(near: dict[int, float], own: int, lines: int, *, seen: bool) -> float:
    """Return how sure a place is; ``seen`` tells that clusters gave it."""
    first, *others = sorted(near, key=near.__getitem__)
    if seen:
        return 1.0 if first == own else _UNSURE
    if not others or first != own:
        return _UNSURE
    return nearer(near[first], near[others[0]], lines)


def nearer(first: float, second: float, lines: int) -> float:
    """Return the probability that the first of two distances is really the smaller.

    A standard deviation over ``lines`` lines has a relative standard error of 1 / sqrt(2 lines);
    the difference is taken as normal, both tails counted.
    """
    error = math.hypot(first, second) / math.sqrt(2 * lines)
    return math.erf((second - first) / error / math.sqrt(2)) if error else 0.0


def _tpcs(sms: Sequence[int], clusters: Clusters) -> list[int]:
    """Number the TPCs: twins by clusters of two, else the neighbours 2k and 2k + 1."""
    twins = _twins(sms, clusters)
    row = {sm: i for i, sm in enumerate(sms)}
    first = [min(i, twins.get(i, row.get(sm & ~1, i))) for i, sm in enumerate(sms)]
    number = {row: label for label, row in enumerate(sorted(set(first)))}
    return [number[row] for row in first]


def _cpcs(gpcs: Mapping[int, int], far: Floats) -> dict[int, int]:
    """Split GPCs where their fingerprints fall apart; {} unless every GPC does."""
    found: list[list[int]] = []
    for label in sorted(set(gpcs.values())):
        rows = [i for i in sorted(gpcs) if gpcs[i] == label]
        groups, gap = linked(far[np.ix_(rows, rows)])
        if gap < _CPC_GAP:
            return {}
        found += [[rows[j] for j in group] for group in groups]
    return dict(_labelled(found))
