"""Headline figures against what GPUs of the same model were measured at."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from msgspec.structs import replace

from tailwave.gpu.verdicts.against_reference import against_reference, tolerance
from tailwave.model import Basis, Health, Measurement, Reference, ReferenceFigure, Status
from tests.measured import figure, without

PART = "than the reference's, and has its part in the figure."
NOT_KNOWN = "How fast this host is against the reference's is not known."
UNKNOWN_HOST = without("launch.host_loop", Status.UNSUPPORTED, "This host has no clock.")


def reference(name: str, *values: float, **parameters: float | str) -> Reference:
    """A reference of one figure, measured in so many runs."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    known = ReferenceFigure(name, "us", values, low, high, dict(parameters))
    return Reference(1, "NVIDIA H200", 132, False, len(values), (), (), (known,))  # noqa: FBT003 - in the order of the fields


def healths(
    measurement: Measurement, known: Reference | None, host: Measurement = UNKNOWN_HOST
) -> list[Health]:
    """What a figure's comparison says."""
    return [criterion.health for criterion in against_reference([measurement], known, host)]


def test_the_tolerance_of_few_runs_is_a_prediction_interval() -> None:
    """Of three runs with a deviation of 0.1 the next is within 22.327 * 0.1 * sqrt(4/3)."""
    known = reference("issue.barrier", 8.4, 8.5, 8.6).figures[0]
    assert tolerance(known) == pytest.approx(22.327125 * 0.1 * (4 / 3) ** 0.5)


def test_more_runs_know_their_spread_better() -> None:
    """Five runs of the same deviation allow less than three."""
    five = reference("issue.barrier", 8.4, 8.45, 8.5, 8.55, 8.6).figures[0]
    assert tolerance(five) == pytest.approx(7.17318 * 0.0790569 * (6 / 5) ** 0.5)


@pytest.mark.parametrize("runs", [*range(3, 12), 40])
def test_a_healthy_gpu_is_beyond_the_tolerance_once_in_a_thousand(runs: int) -> None:
    """If runs scatter normally, the next is that much above their mean with 0.1% probability.

    The distribution is Student's with one degree of freedom less than there are runs.
    """
    values = [8.0 + number % 3 for number in range(runs)]
    reach = tolerance(reference("issue.barrier", *values).figures[0])
    student = reach / (statistics.stdev(values) * math.sqrt(1 + 1 / runs))
    freedom = runs - 1
    at = np.linspace(0, student, 100_001)
    density = (1 + at**2 / freedom) ** (-(freedom + 1) / 2)
    scale = math.gamma((freedom + 1) / 2) / math.gamma(freedom / 2) / math.sqrt(freedom * math.pi)
    below = scale * float((density[1:] + density[:-1]).sum() / 2 * at[1])
    assert 0.5 - below == pytest.approx(0.001, rel=0.002)


def test_no_tolerance_is_below_what_a_check_can_tell() -> None:
    """Runs that were all alike still allow the 3% that two checks differ by."""
    assert tolerance(reference("issue.barrier", 10.0, 10.0, 10.0).figures[0]) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("value", "spread", "expected"),
    [
        (10.3, 0.0, Health.OK),
        (10.4, 0.0, Health.WARNING),
        (10.4, 0.02, Health.OK),  # it may be within the bound
        (5.0, 0.0, Health.OK),  # better is no fault
    ],
)
def test_a_time_is_worse_when_longer(value: float, spread: float, expected: Health) -> None:
    """Only what is proven to be slower than the bound warns."""
    known = reference("issue.barrier", 10.0, 10.0, 10.0)
    assert healths(figure("issue.barrier", value, "clk", spread=spread), known) == [expected]


@pytest.mark.parametrize(
    ("value", "expected"), [(9.71, Health.OK), (9.6, Health.WARNING), (20.0, Health.OK)]
)
def test_a_bandwidth_is_worse_when_less(value: float, expected: Health) -> None:
    """A figure of which more is better has its bound below."""
    known = reference("l2.bandwidth", 10.0, 10.0, 10.0)
    assert healths(figure("l2.bandwidth", value, "GB/s"), known) == [expected]


def test_a_figure_without_a_better_side_is_not_judged() -> None:
    """The number of GPCs differs from card to card of one model."""
    assert healths(figure("topology.gpcs", 7.0), reference("topology.gpcs", 8.0, 8.0, 8.0)) == []


def test_the_parameters_must_be_the_same() -> None:
    """Only figures that were taken at the same parameters are compared."""
    known = reference("l2.poll", 10.0, 10.0, 10.0, pollers=131)
    assert healths(figure("l2.poll", 99.0, "ns", pollers=63), known) == []
    assert healths(figure("l2.poll", 99.0, "ns", pollers=131), known) == [Health.WARNING]


def test_figures_that_are_no_headline_are_not_judged() -> None:
    """A reference holds headline figures against headline figures."""
    known = reference("issue.barrier", 10.0, 10.0, 10.0)
    assert healths(figure("issue.barrier", 99.0, "us", headline=False), known) == []


def test_without_a_reference_nothing_is_said() -> None:
    """No reference is no criterion."""
    assert healths(figure("issue.barrier", 99.0, "us"), None) == []


def test_what_a_criterion_says() -> None:
    """It names the figure and its parameters, and says that it rests on the reference."""
    known = reference("l2.share", 10.0, 10.0, 10.0, where="same_gpc")
    measured = figure("l2.share", 9.0, "us", where="same_gpc")
    (criterion,) = against_reference([measured], known, UNKNOWN_HOST)
    assert criterion.what == "a flag between two SMs and back (where same_gpc)"
    assert criterion.basis == Basis.REFERENCE
    assert criterion.least is None
    assert criterion.most == pytest.approx(10.3)


def on_hosts(ours_ns: float, theirs_ns: float | None) -> tuple[Health, str]:
    """What is said of a slow launch, with a step of an empty loop on this host and on theirs."""
    launch = ReferenceFigure("launch.sync", "us", (8.0, 8.0, 8.0), 8.0, 8.0)
    theirs = (theirs_ns,) * 3 if theirs_ns else ()
    loop = ReferenceFigure("launch.host_loop", "ns", theirs, 0.0, 0.0)
    known = replace(reference("x"), figures=(launch, loop) if theirs else (launch,))
    host = figure("launch.host_loop", ours_ns, "ns", headline=False)
    (criterion,) = against_reference([figure("launch.sync", 12.0, "us")], known, host)
    return criterion.health, criterion.reason


@pytest.mark.parametrize(
    ("ours_ns", "theirs_ns", "expected"),
    [
        (20.0, 20.0, (Health.WARNING, "")),
        (20.6, 20.0, (Health.WARNING, "")),
        (21.0, 20.0, (Health.UNKNOWN, f"This host is slower {PART}")),
        (19.0, 20.0, (Health.UNKNOWN, f"This host is faster {PART}")),
        (20.0, None, (Health.UNKNOWN, NOT_KNOWN)),
    ],
)
def test_a_slow_host_is_no_slow_gpu(
    ours_ns: float, theirs_ns: float | None, expected: tuple[Health, str]
) -> None:
    """Figures that the host has its part in are compared on hosts of one speed only."""
    assert on_hosts(ours_ns, theirs_ns) == expected


def test_other_figures_do_not_ask_about_the_host() -> None:
    """A figure of the GPU alone is compared whatever the host."""
    known = reference("issue.barrier", 10.0, 10.0, 10.0)
    assert healths(figure("issue.barrier", 12.0, "clk"), known, UNKNOWN_HOST) == [Health.WARNING]
