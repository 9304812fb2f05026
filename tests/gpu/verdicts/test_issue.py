"""The issue link: warps hide waits, barriers are arrivals, banks serve a word a cycle."""

from __future__ import annotations

import pytest

from tailwave.gpu.verdicts import issue
from tailwave.model import Health, Measurement
from tests.gpu.verdicts.links import healths, words
from tests.measured import figure


def slots(warps: int, value: float) -> Measurement:
    """Issue slots used by so many warps a scheduler of dependent work."""
    return figure("issue.slots", value, "1/clk", kind="dependent", warps_per_scheduler=warps)


# What the same probe took of other work, before the figures that a test is about.
INDEPENDENT = tuple(
    figure(name, 1.0, "", kind="independent", warps_per_scheduler=warps)
    for name in ("issue.slots", "issue.gap")
    for warps in (1, 2)
)


@pytest.mark.parametrize(
    ("of_two", "expected"), [(0.5, Health.OK), (0.486, Health.OK), (0.484, Health.WARNING)]
)
def test_two_warps_issue_twice_as_much(of_two: float, expected: Health) -> None:
    """A second warp issues while the first one waits."""
    found = healths(issue, *INDEPENDENT, slots(2, of_two), slots(1, 0.25))
    assert list(found.values()) == [expected]


@pytest.mark.parametrize(("of_many", "expected"), [(112.0, Health.OK), (113.0, Health.WARNING)])
def test_a_barrier_grows_at_most_with_its_warps(of_many: float, expected: Health) -> None:
    """Four times the warps cost at most four times as much."""
    found = healths(
        issue,
        figure("issue.barrier", 1.0, "clk", warps=16),
        figure("issue.barrier", 28.0, "clk", warps=8),
        figure("issue.barrier", of_many, "clk", warps=32),
    )
    assert found == {"a barrier of 32 warps against one of 8": expected}


@pytest.mark.parametrize(
    ("cycles", "expected"), [(2.0, Health.OK), (0.98, Health.OK), (0.5, Health.WARNING)]
)
def test_a_way_takes_a_cycle(cycles: float, expected: Health) -> None:
    """Less than a cycle a way means that the access was not made."""
    found = healths(issue, figure("banks.cycles_per_way", cycles, "clk", access="load"))
    assert found == {"cycles of a further way of a bank conflict (loads)": expected}


@pytest.mark.parametrize("cure", ["padded", "swizzled"])
@pytest.mark.parametrize(("left", "expected"), [(1.03, Health.OK), (1.04, Health.WARNING)])
def test_the_cures_undo_a_conflict(cure: str, left: float, expected: Health) -> None:
    """Padding and swizzling leave an access as cheap as one without conflict."""
    found = healths(issue, figure(f"banks.{cure}", left, "ratio"))
    assert list(found.values()) == [expected]


def test_what_it_means() -> None:
    """The meaning is the warps that fill an SM, and the price of a conflict."""
    assert words(
        issue,
        *INDEPENDENT,
        figure("issue.gap", 2.03, "clk", kind="dependent", warps_per_scheduler=2),
        figure("issue.barrier", 28.0, "clk", warps=8),
        figure("banks.cycles_per_way", 1.9, "clk", access="store"),
        figure("issue.gap", 4.07, "clk", kind="dependent", warps_per_scheduler=1),
        figure("issue.barrier", 77.0, "clk", warps=32),
        figure("banks.cycles_per_way", 2.0, "clk", access="load"),
    ) == (
        "FMA latency 4.07 clk, barrier 77 clk, conflict way 2 clk",
        (
            "Dependent arithmetic needs 4 warps a scheduler to fill an SM. "
            "A 32-way bank conflict makes a shared-memory access 62 clk longer."
        ),
    )
