"""A link's health is the worst of what was said about it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tailwave.gpu.verdicts import LINKS
from tailwave.gpu.verdicts.judge import judge, worst
from tailwave.gpu.verdicts.link import Link
from tailwave.model import Health, Measurement, Reference, ReferenceFigure, Status, Verdict
from tests.gpu.verdicts.links import words
from tests.measured import figure, without

NODE = figure("launch.graph_node", 0.5, "us")
STREAM = figure("launch.back_to_back", 3.5, "us")
SLOW_NODE = figure("launch.graph_node", 4.0, "us")
REFERENCE = Reference(
    schema=1,
    device="NVIDIA H200",
    sm_count=132,
    simulated=False,
    runs=3,
    drivers=("580",),
    started=(),
    figures=(ReferenceFigure("launch.graph_node", "us", (0.4, 0.4, 0.4), 0.4, 0.4),),
)


def launch(*measurements: Measurement, reference: Reference | None = None) -> Verdict:
    """The verdict on the launch link."""
    (verdict,) = judge(measurements, reference, ["launch"])
    return verdict


def test_the_order_from_best_to_worst() -> None:
    """OK, UNKNOWN, WARNING, CRITICAL; nothing said is not known."""
    order = (Health.OK, Health.UNKNOWN, Health.WARNING, Health.CRITICAL)
    assert [worst(pair) for pair in pairwise(order)] == list(order[1:])
    assert worst([]) == Health.UNKNOWN


def test_a_healthy_link() -> None:
    """Bounds kept are OK, in the words of the link."""
    verdict = launch(NODE, STREAM)
    assert verdict.health == Health.OK
    assert verdict.claim == "graph node 0.500 us, stream launch 3.50 us"


def test_a_broken_bound_condemns_the_link() -> None:
    """One broken bound is enough."""
    assert launch(SLOW_NODE, STREAM).health == Health.CRITICAL


def test_slower_than_the_reference_warns() -> None:
    """A link within the bounds of any GPU, but slower than its model, is a warning."""
    assert launch(NODE, STREAM, reference=REFERENCE).health == Health.WARNING


def test_the_reference_alone_can_speak() -> None:
    """Where the bounds of any GPU have no figures, the reference still judges."""
    assert launch(NODE, reference=REFERENCE).health == Health.WARNING


def test_what_a_device_cannot_do_says_nothing_about_its_health() -> None:
    """A link is judged by the figures that there are."""
    missing = without("launch.graph_node", Status.UNSUPPORTED, "This device has no clock.")
    graph = figure("launch.graph_launch_host", 5.0, "us", nodes=100)
    assert launch(missing, graph, figure("launch.enqueue", 3.0, "us")).health == Health.OK


def test_what_went_wrong_leaves_the_link_unknown() -> None:
    """A figure that failed is not silence: the link is not known to be well."""
    failed = without("launch.per_argument", Status.FAILED, "The kernel did not run.")
    assert launch(NODE, STREAM, failed).health == Health.UNKNOWN
    assert launch(SLOW_NODE, STREAM, failed).health == Health.CRITICAL


def test_a_figure_that_was_taken_at_other_parameters_is_known() -> None:
    """A figure that failed at one setting of several does not leave the link unknown."""
    ways = figure("banks.cycles_per_way", 2.0, "clk", access="load")
    failed = without("banks.cycles_per_way", Status.FAILED, "The stores did not run.")
    (verdict,) = judge([ways, failed], None, ["banks"])
    assert verdict.health == Health.OK


def test_a_link_without_figures_is_unknown_with_the_reason() -> None:
    """Nothing measured is unknown, and the meaning is why."""
    verdict = launch(without("launch", Status.FAILED, "The GPU stopped answering."))
    assert verdict.health == Health.UNKNOWN
    assert (verdict.claim, verdict.meaning) == ("not measured", "The GPU stopped answering.")
    assert launch().meaning == "Nothing was measured."


def test_the_reason_is_the_first_that_there_is() -> None:
    """What was measured and judges nothing has none."""
    argument = figure("launch.per_argument", 7.0, "ns", headline=False)
    failed = without("launch.graph_node", Status.FAILED, "The graph did not run.")
    verdict = launch(argument, failed, without("launch.sync", Status.FAILED, "Nor did this."))
    assert (verdict.claim, verdict.meaning) == ("not measured", "The graph did not run.")


def test_only_links_that_were_asked_about_are_judged() -> None:
    """A link whose probes were not asked for has no verdict."""
    links = [verdict.link for verdict in judge([], None, ["banks", "copy"])]
    assert links == ["issue", "copy"]


@pytest.mark.parametrize("link", LINKS, ids=[link.LINK for link in LINKS])
def test_a_link_without_figures_has_no_words(link: Link) -> None:
    """Every link can be asked without any figure, and then says and condemns nothing."""
    assert words(link) == ("", "")
    (verdict,) = judge([], None, [link.PROBES[0]])
    assert verdict.health == Health.UNKNOWN
    assert all(c.health == Health.UNKNOWN for c in verdict.criteria)
