"""Draws the map of a die: which SMs share a TPC, a CPC and a GPC, and how sure that is.

Two kinds of evidence are joined. A thread-block cluster never leaves its GPC, so SMs that were
seen in one cluster share a GPC, and chains of such pairs make groups. Full clusters never reach
the spare TPCs of larger GPCs; these are placed by their latency fingerprint, the row of cycles
from a TPC (the mean of its SMs) to many L2 lines. TPCs in like places of the die have like rows,
however far from L2 they are on average, so the distance of two is the standard deviation of the
difference of their rows. On an H200 that is mostly 0.6 cycles to the next TPC of the same CPC, 1.0
to 2.0 to the most alike CPC of another GPC, and 4 or more else; Pearson's r is above 0.99 in both
of the first cases.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec
import numpy as np

from tailwave.gpu.probes.groups import components, linked
from tailwave.model import Floats

Clusters: TypeAlias = Mapping[int, Sequence[tuple[int, ...]]]

_TPC = 2
# Rows of one CPC differ by noise (some 0.6 cycles on an H200), those of two by more (4 to 10).
_CPC_GAP = 2.0
# Distances below this (cycles) are equal: latencies are whole cycles.
_LEAST_DISTANCE = 0.2
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
    tpc_of = _tpcs(sms, clusters)
    far = distances(_by_tpc(tpc_of, latencies))
    seeds = _seeds(sms, clusters, tpc_of)
    known = _labelled(seeds or linked(far)[0])
    gpcs = known | _placed(known, far)
    cpcs = _cpcs(gpcs, far)
    lines = latencies.shape[1]
    seen = {tpc for group in seeds for tpc in group}
    sure = {tpc: _confidence(tpc, gpcs, far, lines, seen=tpc in seen) for tpc in gpcs}
    places = (
        Place(sm, tpc, gpcs[tpc], cpcs.get(tpc), sure[tpc])
        for sm, tpc in zip(sms, tpc_of, strict=True)
    )
    return Die(tuple(places))


def _tpcs(sms: Sequence[int], clusters: Clusters) -> list[int]:
    """Number the TPC of each SM: by clusters of two, else of the neighbours 2k and 2k + 1."""
    partners: dict[int, set[int]] = {}
    for one, other in clusters.get(_TPC, ()):
        partners.setdefault(one, set()).add(other)
        partners.setdefault(other, set()).add(one)
    twins = {sm: next(iter(seen)) for sm, seen in partners.items() if len(seen) == 1}
    firsts = [min(sm, twins.get(sm, sm ^ 1)) for sm in sms]
    number = {first: tpc for tpc, first in enumerate(sorted(set(firsts)))}
    return [number[first] for first in firsts]


def _by_tpc(tpc_of: Sequence[int], latencies: Floats) -> Floats:
    """Return the mean row of each TPC's SMs: some lines favour the one, and some the other."""
    labels = np.asarray(tpc_of)
    return np.array([latencies[labels == tpc].mean(axis=0) for tpc in range(labels.max() + 1)])


def distances(latencies: Floats) -> Floats:
    """Return how unlike the rows of each two SMs are (cycles).

    The variance of a difference is the sum of the variances less twice the covariance.
    """
    covariance = np.atleast_2d(np.cov(latencies, bias=True))
    variance = np.diag(covariance)
    squares = variance[:, None] + variance[None, :] - 2 * covariance
    found: Floats = np.sqrt(np.maximum(squares, _LEAST_DISTANCE**2))
    np.fill_diagonal(found, 0.0)
    return found


def _seeds(sms: Sequence[int], clusters: Clusters, tpc_of: Sequence[int]) -> list[list[int]]:
    """Return the TPCs that clusters join; those that are joined to none are left out."""
    tpc = dict(zip(sms, tpc_of, strict=True))
    joined = [[tpc[sm] for sm in group] for seen in clusters.values() for group in seen]
    return [group for group in components(max(tpc_of) + 1, joined) if len(group) > 1]


def _labelled(groups: Sequence[Sequence[int]]) -> dict[int, int]:
    """Number groups by their first member."""
    ordered = sorted(groups, key=min)
    return {member: label for label, group in enumerate(ordered) for member in group}


def _placed(known: Mapping[int, int], far: Floats) -> dict[int, int]:
    """Give each TPC without a group the group that is nearest."""
    spare = sorted(set(range(len(far))) - set(known))
    near = {tpc: _nearness(tpc, known, far) for tpc in spare}
    return {tpc: min(groups, key=groups.__getitem__) for tpc, groups in near.items()}


def _nearness(tpc: int, gpcs: Mapping[int, int], far: Floats) -> dict[int, float]:
    """Return the distance from a TPC to the nearest other member of each group."""
    near: dict[int, float] = {}
    for member, label in gpcs.items():
        if member != tpc:
            near[label] = min(float(far[tpc, member]), near.get(label, math.inf))
    return near


def _confidence(tpc: int, gpcs: Mapping[int, int], far: Floats, lines: int, *, seen: bool) -> float:
    """Return how sure a place is; ``seen`` tells that clusters gave it."""
    near = _nearness(tpc, gpcs, far)
    first, *others = sorted(near, key=near.__getitem__)
    if seen:
        return 1.0 if first == gpcs[tpc] else _UNSURE
    if not others or first != gpcs[tpc]:
        return _UNSURE
    return nearer(near[first], near[others[0]], lines)


def nearer(first: float, second: float, lines: int) -> float:
    """Return the probability that the first of two distances is really the smaller.

    A standard deviation over ``lines`` lines has a relative standard error of 1 / sqrt(2 lines);
    the difference is taken as normal, both tails counted.
    """
    error = math.hypot(first, second) / math.sqrt(2 * lines)
    return math.erf((second - first) / error / math.sqrt(2)) if error else 0.0


def _cpcs(gpcs: Mapping[int, int], far: Floats) -> dict[int, int]:
    """Split GPCs where their fingerprints fall apart; {} unless every GPC does."""
    found: list[list[int]] = []
    for label in sorted(set(gpcs.values())):
        tpcs = [tpc for tpc in sorted(gpcs) if gpcs[tpc] == label]
        groups, gap = linked(far[np.ix_(tpcs, tpcs)])
        if gap < _CPC_GAP:
            return {}
        found += [[tpcs[i] for i in group] for group in groups]
    return _labelled(found)
