"""The measurements of one check, looked up by name and parameters."""

from __future__ import annotations

from tailwave.gpu.verdicts.measurements import Measurements
from tailwave.model import Measurement, Status
from tests.measured import figure, without

FEW = figure("l2.poll", 1.0, pollers=1, headline=False)
MORE = figure("l2.poll", 2.0, pollers=4, headline=False)
ALL = figure("l2.poll", 3.0, pollers=131)


def test_a_headline_comes_first() -> None:
    """Of several figures of one name it is the headline that is meant."""
    assert Measurements([FEW, MORE, ALL]).get("l2.poll") == ALL


def test_without_a_headline_the_first_taken_comes_first() -> None:
    """In the order in which they were taken."""
    assert Measurements([MORE, FEW]).get("l2.poll") == MORE


def test_parameters_choose() -> None:
    """One at other parameters is another figure, be it the headline."""
    figures = Measurements([FEW, MORE, ALL])
    assert figures.get("l2.poll", pollers=4) == MORE
    assert figures.all("l2.poll") == [FEW, MORE, ALL]
    assert figures.all("l2.poll", pollers=1) == [FEW]


def test_a_figure_that_was_not_measured_says_so() -> None:
    """It has a name, no value, and a reason."""
    absent = Measurement("l2.poll", Status.UNSUPPORTED, reason="It was not measured.")
    assert Measurements([FEW]).get("l2.poll", pollers=4) == Measurement(
        "l2.poll", Status.UNSUPPORTED, reason="It was not measured."
    )
    assert Measurements([]).get("l2.poll") == absent


def test_what_became_of_a_probe_is_what_became_of_its_figures() -> None:
    """A probe that failed as a whole has the reason for each of its figures."""
    failed = without("l2", Status.FAILED, "The GPU stopped answering.")
    assert Measurements([failed]).get("l2.poll", pollers=4) == failed
    assert Measurements([failed]).get("launch.sync").reason == "It was not measured."


def test_figures_of_some_probes() -> None:
    """The word before the dot is the probe; a probe that failed as a whole is among them."""
    launch, failed = figure("launch.sync", 8.0), without("fabric", Status.FAILED, "No.")
    figures = Measurements([launch, FEW, failed])
    assert figures.of_probes(("l2", "fabric")) == [FEW, failed]
