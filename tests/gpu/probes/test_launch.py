"""Launch costs on a device whose costs are known."""

from __future__ import annotations

import pytest

from tailwave.gpu.probes import run_probes
from tailwave.model import Measurement
from tests.gpu.probes import fake
from tests.gpu.probes.fake import FakeDevice


@pytest.fixture(scope="module")
def found() -> dict[str, float | None]:
    """The values of the launch figures by name."""
    results = run_probes(FakeDevice(), only=["launch"])
    return {r.name: r.value for r in results if isinstance(r, Measurement)}


def test_enqueue_is_what_the_host_is_held(found: dict[str, float | None]) -> None:
    """A launch call takes its enqueue cost."""
    assert found["launch.enqueue"] == fake.ENQUEUE_NS / 1000


def test_sync_is_the_whole_way(found: dict[str, float | None]) -> None:
    """Launch and wait is enqueue, kernel and wake-up."""
    expected = (fake.ENQUEUE_NS + fake.KERNEL_NS + fake.SYNC_NS) / 1000
    assert found["launch.sync"] == expected


def test_back_to_back_is_a_slope(found: dict[str, float | None]) -> None:
    """In a full stream a launch adds the longer of kernel and enqueue, and nothing constant."""
    assert found["launch.back_to_back"] == fake.KERNEL_NS / 1000


def test_a_node_is_a_slope(found: dict[str, float | None]) -> None:
    """A node adds its own time; the graph's launch is not part of it."""
    assert found["launch.graph_node"] == fake.NODE_NS / 1000


def test_a_graph_holds_the_host_once(found: dict[str, float | None]) -> None:
    """Launching a graph costs the host the same for any number of nodes here."""
    assert found["launch.graph_launch_host"] == fake.GRAPH_ENQUEUE_NS / 1000


def test_an_argument_is_a_slope(found: dict[str, float | None]) -> None:
    """Each argument adds its own cost."""
    assert found["launch.per_argument"] == pytest.approx(fake.ARGUMENT_NS)
