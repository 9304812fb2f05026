"""Whether a link's figures come out the same each time."""

from __future__ import annotations

import msgspec
import pytest

from tailwave.gpu.verdicts.judge import repeatability
from tailwave.model import Health, Measurement, Status
from tests.measured import figure, without


@pytest.mark.parametrize(("spread", "expected"), [(0.029, Health.OK), (0.031, Health.WARNING)])
def test_the_widest_interval_is_held_against_what_check_promises(
    spread: float, expected: Health
) -> None:
    """A headline figure repeats within 3%; the widest of the link speaks for all."""
    steady = figure("issue.gap", 4.0, "clk", spread=0.001)
    (criterion,) = repeatability([steady, figure("issue.barrier", 77.0, "clk", spread=spread)])
    assert criterion.health == expected
    assert criterion.value == pytest.approx(spread)
    assert criterion.what == (
        "half the interval of issue.barrier against its median, the widest of the link"
    )
    assert criterion.unit == "ratio"


@pytest.mark.parametrize(
    "measurement",
    [
        without("issue.gap", Status.FAILED, "The kernel did not run."),
        Measurement("issue.gap", Status.OK, value=0.0, low=0.0, high=1.0, headline=True),
    ],
    ids=["no value", "nought"],
)
def test_what_has_no_relative_spread_is_left_out(measurement: Measurement) -> None:
    """A figure that was not taken, and one of 0, of which no interval is a share."""
    held = msgspec.structs.replace(measurement, headline=True)
    assert repeatability([held]) == ()


@pytest.mark.parametrize(
    "measurement",
    [
        figure("managed.fault_in", 5.0, "GB/s", spread=0.5, headline=False),
        figure("fabric.loaded_latency", 890.0, "clk", spread=0.5, quantile="p99"),
        figure("launch.sync", 8.5, "us", spread=0.5),
    ],
    ids=["no-headline", "tail", "host"],
)
def test_what_may_scatter_on_a_healthy_gpu(measurement: Measurement) -> None:
    """Other figures are not held, nor the slowest runs, nor what the host has its part in."""
    assert repeatability([measurement]) == ()
