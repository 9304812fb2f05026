"""What a real H200 said: the kept sessions agree, and their matrices give the map again."""

from __future__ import annotations

import numpy as np
import pytest

from tailwave import session
from tailwave.gpu.probes.die import draw
from tailwave.gpu.probes.l2 import line_sides
from tailwave.model import Floats, Table
from tests.places import ROOT

FOLDER = ROOT / "benchmarks" / "results" / "check"
RUNS = ("run1", "run2", "run3", "quick")
FIRST_SPARE = 120  # clusters of 16 never reach the SMs from here on


def table(run: str, name: str) -> Table:
    """Return a table of a kept session."""
    return next(t for t in session.load(FOLDER / f"{run}.json").tables if t.name == name)


def places(run: str) -> list[tuple[float | None, ...]]:
    """Return TPC, GPC and CPC of each SM as a kept session has them."""
    return [row[:3] for row in table(run, "topology.map").values]


def matrix(run: str) -> Floats:
    """Return the latencies of a kept session."""
    return np.array(table(run, "l2.latency").values, dtype=np.float64)


@pytest.mark.parametrize("run", RUNS[1:])
def test_runs_draw_the_same_map(run: str) -> None:
    """Every SM has the same TPC, GPC and CPC in each run."""
    assert places(run) == places(RUNS[0])


def test_sizes_add_up() -> None:
    """Six GPCs of 16 SMs and two of 18 are the 132 of the device."""
    sizes = [row[0] for row in table(RUNS[0], "topology.sizes").values]
    assert sizes == [16, 16, 16, 16, 16, 16, 18, 18]


@pytest.mark.parametrize("run", RUNS)
def test_fingerprints_place_the_spare_tpcs(run: str) -> None:
    """Given only what clusters of 16 reach, the matrix puts the rest where it was found to be."""
    gpcs: dict[float | None, list[int]] = {}
    for sm, (_, gpc, _) in enumerate(places(run)[:FIRST_SPARE]):
        gpcs.setdefault(gpc, []).append(sm)
    pairs = [(sm, sm + 1) for sm in range(0, 132, 2)]
    die = draw(range(132), {2: pairs, 16: [tuple(sms) for sms in gpcs.values()]}, matrix(run))
    assert [(p.tpc, p.gpc, p.cpc) for p in die.places] == places(run)
    assert min(p.confidence for p in die.places[FIRST_SPARE:]) > 0.99


@pytest.mark.parametrize("run", RUNS)
def test_l2_has_two_sides(run: str) -> None:
    """Lines fall into two groups of like size."""
    sides = line_sides(matrix(run))
    assert sides is not None
    assert 0.35 < sides.mean() < 0.65
