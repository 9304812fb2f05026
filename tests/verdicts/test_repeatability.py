"""Whether a link's figures come out the same each time."""

from __future__ import annotations

import pytest

from tailwave.model import Health
from tailwave.verdicts.repeatability import repeatability
from tests.measured import figure


@pytest.mark.parametrize(("spread", "expected"), [(0.029, Health.OK), (0.031, Health.WARNING)])
def test_the_widest_interval_is_held_against_what_check_promises(
    spread: float, expected: Health
) -> None:
    """A headline figure repeats within 3%; the widest of the link speaks for all."""
    steady = figure("launch.graph_node", 0.5, "us", spread=0.001)
    (criterion,) = repeatability([steady, figure("launch.sync", 8.5, "us", spread=spread)])
    assert criterion.health == expected
    assert criterion.value == pytest.approx(spread)
    assert criterion.what == (
        "half the interval of launch.sync against its median, the widest of the link"
    )


def test_other_figures_and_tails_may_scatter() -> None:
    """What is no headline is not held, nor are the slowest runs, whose scatter is the figure."""
    aside = figure("launch.per_argument", 1.0, "ns", spread=0.5, headline=False)
    tail = figure("interference.shared", 99.0, "us", spread=0.5, quantile="p99")
    assert repeatability([aside, tail]) == ()
