"""The die as a session knows it: where each SM sits, and what was measured at it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

import msgspec
import numpy as np

from tailwave.model import Floats, Session, Table

PLACES = "topology.map"  # a row per SM: its GPC and its TPC
LATENCIES = "l2.latency"  # a row per SM, a column per line of memory


class Processor(msgspec.Struct, frozen=True):
    """One SM: its number, its place, and the figure that colours it (None: not measured)."""

    sm: int
    gpc: int
    tpc: int
    value: float | None


class Gpc(msgspec.Struct, frozen=True):
    """One GPC: its SMs by TPC."""

    index: int
    tpcs: tuple[tuple[Processor, ...], ...]

    @property
    def processors(self) -> tuple[Processor, ...]:
        """Its SMs, TPC by TPC."""
        return tuple(sm for tpc in self.tpcs for sm in tpc)


class Die(msgspec.Struct, frozen=True):
    """The SMs by GPC, coloured by one figure."""

    what: str  # the figure, in words
    unit: str
    gpcs: tuple[Gpc, ...]
    simulated: bool

    @property
    def values(self) -> list[float]:
        """The figures of all SMs that have one."""
        every = (sm.value for gpc in self.gpcs for sm in gpc.processors)
        return [value for value in every if value is not None]


def find_table(session: Session, name: str) -> Table | None:
    """Return a session's table of this name."""
    return next((table for table in session.tables if table.name == name), None)


def latency_die(session: Session) -> Die | None:
    """Place the SMs, coloured by their mean L2 latency; None when they were not placed."""
    places = find_table(session, PLACES)
    if places is None or not {"gpc", "tpc"} <= set(places.columns):
        return None
    latencies = find_table(session, LATENCIES)
    means = _row_means(latencies) if latencies else {}
    gpc, tpc = places.columns.index("gpc"), places.columns.index("tpc")
    processors = [
        Processor(_number(label), int(row[gpc] or 0), int(row[tpc] or 0), means.get(_number(label)))
        for label, row in zip(places.rows, places.values, strict=True)
    ]
    unit = latencies.unit if latencies else ""
    return Die("mean L2 latency of each SM", unit, _by_gpc(processors), places.simulated)


def _number(label: str) -> int:
    """Read an SM's number from its row's label."""
    return int("".join(c for c in label if c.isdigit()) or -1)


def _row_means(table: Table) -> dict[int, float]:
    values = as_array(table)
    return {
        _number(label): float(np.nanmean(row))
        for label, row in zip(table.rows, values, strict=True)
        if np.isfinite(row).any()
    }


def as_array(table: Table) -> Floats:
    """Return a table's values; what was not measured is NaN."""
    rows = [[np.nan if value is None else value for value in row] for row in table.values]
    return np.array(rows, dtype=np.float64).reshape(len(table.rows), len(table.columns))


def _by_gpc(processors: Iterable[Processor]) -> tuple[Gpc, ...]:
    ordered = sorted(processors, key=lambda sm: (sm.gpc, sm.tpc, sm.sm))
    return tuple(
        Gpc(gpc, tuple(tuple(tpc) for _, tpc in groupby(group, key=lambda sm: sm.tpc)))
        for gpc, group in groupby(ordered, key=lambda sm: sm.gpc)
    )


class Matrix(msgspec.Struct, frozen=True):
    """SM x line latencies, GPCs and lines by how they resemble each other.

    ``gpcs`` holds the GPC of each row, all -1 where the SMs were not placed.
    """

    unit: str
    values: Floats
    sms: tuple[int, ...]
    gpcs: tuple[int, ...]
    simulated: bool


def latency_matrix(session: Session) -> Matrix | None:
    """Return the latency matrix in an order that shows its structure; None without one."""
    table = find_table(session, LATENCIES)
    if table is None or not np.isfinite(as_array(table)).any():
        return None
    values, place = as_array(table), _gpc_of(session)
    sms = [_number(label) for label in table.rows]
    rows_alike, lines_alike = _pattern(values)
    side = _side_of_gpcs([place.get(sm, -1) for sm in sms], rows_alike)
    rows = sorted(range(len(sms)), key=lambda row: (side[place.get(sms[row], -1)], sms[row]))
    return Matrix(
        unit=table.unit,
        values=values[rows][:, np.argsort(lines_alike, kind="stable")],
        sms=tuple(sms[row] for row in rows),
        gpcs=tuple(place.get(sms[row], -1) for row in rows),
        simulated=table.simulated,
    )


def _gpc_of(session: Session) -> dict[int, int]:
    die = latency_die(session)
    return {sm.sm: gpc.index for gpc in die.gpcs for sm in gpc.processors} if die else {}


def _side_of_gpcs(gpcs: list[int], rows_alike: Floats) -> dict[int, float]:
    """Return where the SMs of each GPC stand in the pattern, on average."""
    of_row = np.array(gpcs)
    return {gpc: float(rows_alike[of_row == gpc].mean()) for gpc in dict.fromkeys(gpcs)}


def _pattern(values: Floats) -> tuple[Floats, Floats]:
    """Return the place of each SM and of each line in what the SMs disagree on most.

    That is the first singular vectors of the matrix without its row and column means: SMs that are
    near to the same part of L2 get alike values, and so do the lines in that part.
    """
    filled = np.where(np.isfinite(values), values, np.nanmean(values))
    residue = filled - filled.mean(axis=0) - filled.mean(axis=1, keepdims=True) + filled.mean()
    left, _, right = np.linalg.svd(residue, full_matrices=False)
    return left[:, 0], right[0]
