"""The die map and the latency matrix in blocks of text."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from tailwave.model import Table
from tailwave.reports.die import latency_die, latency_matrix
from tailwave.reports.maps import Shades, render_maps
from tests.measured import session
from tests.reports.checks import MAPPED, mapped
from tests.reports.printed import printed

BLOCKS = """\

The die: mean L2 latency of each SM
  GPC 0    2 SMs  ░░░░  300 clk
  GPC 1    2 SMs  ░░██  309 clk
  ░ 298 to 304  ▒ 304 to 309  ▓ 309 to 314  █ 314 to 319 clk
  a group is a TPC with its SMs; on the right the GPC's mean

L2 latency of each SM (down) to each line (across)
  GPC 0    █░
  GPC 1    ░█
  ░ 279 to 289  ▒ 289 to 300  ▓ 300 to 310  █ 310 to 320 clk
  4 SMs in 2 rows by GPC; 2 lines, those that resemble each other together; a
  block is the mean of its SMs and lines
"""

NOTHING = """\

The die was not mapped: that takes the probe topology.

There is no latency matrix: that takes the probe l2.
"""


def test_the_maps_in_blocks() -> None:
    """A row a GPC, a group a TPC; the matrix has lines that resemble each other together."""
    assert printed(render_maps, MAPPED) == BLOCKS


def test_the_maps_in_ascii() -> None:
    """Where there are no blocks, the shades are plain characters."""
    report = printed(render_maps, MAPPED, "ascii")
    assert "  GPC 1    2 SMs  ..##  309 clk\n" in report
    assert "  . 279 to 289  : 289 to 300  * 300 to 310  # 310 to 320 clk\n" in report


def test_a_session_without_maps() -> None:
    """What a map would take is said."""
    assert printed(render_maps, session()) == NOTHING


@pytest.mark.parametrize(("columns", "tpcs"), [(80, 1), (80, 9), (80, 16), (50, 9)])
def test_a_map_fits_its_page(columns: int, tpcs: int) -> None:
    """Large GPCs and narrow pages have narrower SMs, and each GPC keeps its line."""
    report = printed(render_maps, mapped(8, tpcs), columns=columns)
    assert max(len(line) for line in report.splitlines()) <= columns
    gpcs = [line for line in report.splitlines() if line.endswith(" clk") and "GPC" in line]
    assert len(gpcs) == 8


def test_a_die_whose_latencies_are_not_known() -> None:
    """The places are drawn all the same, and nothing is shaded."""
    placed = msgspec.structs.replace(MAPPED, tables=MAPPED.tables[:1])
    report = printed(render_maps, placed)
    assert "  The latency of the SMs was not measured.\n  GPC 0    2 SMs  ????\n" in report


def test_an_sm_that_was_not_measured() -> None:
    """One SM without latencies is a question mark, and the key says so."""
    matrix = MAPPED.tables[1]
    hole = msgspec.structs.replace(matrix, values=((None, None), *matrix.values[1:]))
    report = printed(render_maps, msgspec.structs.replace(MAPPED, tables=(MAPPED.tables[0], hole)))
    assert "  GPC 0    2 SMs  ??░░  301 clk\n" in report
    assert "; ? was not measured" in report.replace("\n  ", " ")


def test_a_matrix_without_places_is_drawn_in_order() -> None:
    """Without a map of the die the SMs have no GPC, and keep their order."""
    found = latency_matrix(msgspec.structs.replace(MAPPED, tables=MAPPED.tables[1:]))
    assert found is not None
    assert (found.sms, found.gpcs) == ((0, 1, 2, 3), (-1, -1, -1, -1))


def test_lines_that_resemble_each_other_stand_together() -> None:
    """Lines of either half of L2, however mixed in memory, end up on either side."""
    half = np.array([0, 1, 1, 0, 1, 0, 0, 1])
    rows = np.array([0, 0, 1, 1])
    cycles = 280.0 + 40.0 * (half[None, :] != rows[:, None])
    names = tuple(str(line) for line in range(8))
    table = Table("l2.latency", "clk", ("0", "1", "2", "3"), names, tuple(map(tuple, cycles)))
    found = latency_matrix(session(table))
    assert found is not None
    first = found.values[0]
    assert len(set(first[:4])) == len(set(first[4:])) == 1


@pytest.mark.parametrize("values", [(), ((None,),)])
def test_an_empty_matrix_is_none(values: tuple[tuple[None, ...], ...]) -> None:
    """A table without a figure is no matrix."""
    names = ("0",) * len(values)
    assert latency_matrix(session(Table("l2.latency", "clk", names, ("0",), values))) is None


def test_a_map_without_places_is_none() -> None:
    """A map that does not say where the SMs are is no die."""
    assert latency_die(session(Table("topology.map", "", ("0",), ("sm",), ((0.0,),)))) is None


def test_the_die_has_the_means_of_its_sms() -> None:
    """Each SM's figure is the mean over its lines, without those not measured."""
    die = latency_die(MAPPED)
    assert die is not None
    assert die.values == [300.0, 301.0, 298.5, 319.0]


def test_equal_figures_have_one_shade() -> None:
    """Figures without a range are all of the lightest shade."""
    shades = Shades([5.0, 5.0], "clk", ascii_only=True)
    assert (shades.of(5.0), shades.of(None), shades.of(float("nan"))) == (".", "?", "?")


def test_a_simulated_map_says_so() -> None:
    """Both headings of a simulated session say that it is simulated."""
    tables = tuple(msgspec.structs.replace(table, simulated=True) for table in MAPPED.tables)
    report = printed(render_maps, msgspec.structs.replace(MAPPED, tables=tables))
    assert report.count("(simulated)") == 2
