"""The launch link: a graph must be cheaper than its launches."""

from __future__ import annotations

import pytest

from tailwave.gpu.verdicts import launch
from tailwave.model import Health
from tests.gpu.verdicts.links import healths, words
from tests.measured import figure

NODE = "a graph node against a launch in a full stream"
HOST = "a graph of 100 nodes against 100 launch calls, in time that the host is held"


@pytest.mark.parametrize(
    ("node_us", "spread", "expected"),
    [
        (0.5, 0.0, Health.OK),
        (3.5, 0.0, Health.OK),
        (3.51, 0.01, Health.WARNING),
        (3.6, 0.0, Health.CRITICAL),
    ],
)
def test_a_graph_node_costs_less_than_a_launch(
    node_us: float, spread: float, expected: Health
) -> None:
    """A node that is dearer than a launch means that graphs bring nothing."""
    found = healths(
        launch,
        figure("launch.graph_node", node_us, "us", spread=spread),
        figure("launch.back_to_back", 3.5, "us"),
    )
    assert found == {NODE: expected}


@pytest.mark.parametrize(("held_us", "expected"), [(300.0, Health.OK), (301.0, Health.WARNING)])
def test_a_graph_holds_the_host_less(held_us: float, expected: Health) -> None:
    """Launching a graph holds the host no longer than launching its nodes does."""
    found = healths(
        launch,
        figure("launch.graph_launch_host", held_us, "us", nodes=100),
        figure("launch.enqueue", 3.0, "us"),
    )
    assert found == {HOST: expected}


def test_what_it_means() -> None:
    """The meaning is the cost of a chain of a thousand kernels."""
    assert words(
        launch,
        figure("launch.graph_node", 0.5, "us"),
        figure("launch.back_to_back", 3.5, "us"),
        figure("launch.sync", 8.5, "us"),
    ) == (
        "graph node 0.500 us, stream launch 3.50 us, launch + wait 8.50 us",
        (
            "A chain of 1,000 small kernels costs 3.50 ms in a stream and 0.500 ms as a graph. "
            "Each result that the host waits for costs 8.50 us."
        ),
    )


def test_what_is_not_known_is_not_said() -> None:
    """A sentence whose figures are missing is left out."""
    assert words(launch, figure("launch.back_to_back", 3.5, "us")) == ("stream launch 3.50 us", "")
