"""Groups in small sets: connected ones, near ones, and whether a distribution has two humps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from tailwave.model import Floats

# The best cut of a uniform distribution explains 3/4 of its variance, that of a normal one 2/π.
# Two normal humps of one width explain 0.8 when their means are four deviations apart.
_TWO_HUMPS = 0.8
_SMALLEST_HUMP = 0.1


def components(count: int, groups: Iterable[Sequence[int]]) -> list[list[int]]:
    """Join items 0 to ``count`` - 1 that share a group, and those joined to them (union-find)."""
    parent = list(range(count))

    def root(item: int) -> int:
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    for first, *others in groups:
        for other in others:
            one, two = sorted((root(first), root(other)))
            parent[two] = one
    found: dict[int, list[int]] = {}
    for item in range(count):
        found.setdefault(root(item), []).append(item)
    return list(found.values())


def linked(distance: Floats) -> tuple[list[list[int]], float]:
    """Group items by single linkage, cut where the next link is longest against the last.

    Returns the groups (at least two, none of them alone) and that quotient; one group and 1.0
    where no cut leaves every item company.
    """
    count = len(distance)
    links = _tree(distance)
    best: tuple[list[list[int]], float] = ([list(range(count))], 1.0)
    for cut in range(1, len(links)):
        gap = distance[links[cut]] / max(distance[links[cut - 1]], np.finfo(float).tiny)
        if gap > best[1]:
            groups = components(count, links[:cut])
            if min(map(len, groups)) > 1:
                best = (groups, float(gap))
    return best


def _tree(distance: Floats) -> list[tuple[int, int]]:
    """Return the links of the minimum spanning tree, shortest first (Kruskal)."""
    rows, columns = np.triu_indices(len(distance), k=1)
    root = list(range(len(distance)))
    links = []
    for edge in np.argsort(distance[rows, columns], kind="stable"):
        i, j = int(rows[edge]), int(columns[edge])
        if root[i] != root[j]:
            links.append((i, j))
            old, new = root[j], root[i]
            root = [new if r == old else r for r in root]
    return links


class Cut(msgspec.Struct, frozen=True):
    """The best cut of values in two: where, and what it explains."""

    at: float
    explained: float
    share: float  # of the values, on the smaller side

    @property
    def two_humps(self) -> bool:
        """Whether the values have two humps, and not one that was cut."""
        return self.explained >= _TWO_HUMPS and self.share >= _SMALLEST_HUMP


def cut_in_two(values: Sequence[float]) -> Cut:
    """Cut values in two so that the least variance remains within the halves (two-means)."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    total = float(((ordered - ordered.mean()) ** 2).sum())
    count = len(ordered)
    sizes = np.arange(1, count)
    sums = np.cumsum(ordered)[:-1]
    low, high = sums / sizes, (ordered.sum() - sums) / (count - sizes)
    between = sizes * (count - sizes) / count * (high - low) ** 2
    cut = int(between.argmax())
    return Cut(
        at=float(ordered[cut : cut + 2].mean()),
        explained=float(between[cut]) / total if total else 0.0,
        share=min(cut + 1, count - cut - 1) / count,
    )
