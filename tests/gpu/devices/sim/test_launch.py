"""The launch front end: what the host pays, and when the GPU starts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwave.gpu.devices import sim
from tailwave.gpu.devices.base import Launch
from tests.gpu.devices.sim.rig import Rig, quiet

LAUNCH = quiet().launch
CTA = quiet().dispatch.cta_ns
EMPTY = Launch("empty", 1, 32)


def test_launch_and_synchronise() -> None:
    """Enqueue, latency, the empty CTA, and the wake-up of the host."""
    rig = Rig()
    expected = LAUNCH.enqueue_ns + LAUNCH.latency_ns + CTA + LAUNCH.sync_ns
    assert rig.finished_ns(lambda: rig.run("empty", 1, 32)) == pytest.approx(expected, abs=1)


def test_synchronise_with_nothing_to_wait_for() -> None:
    """It costs its call."""
    rig = Rig()
    assert rig.host_ns(rig.device.synchronize) == pytest.approx(LAUNCH.idle_sync_ns, abs=1)


@pytest.mark.parametrize("count", [1, 8, 64])
def test_arguments_cost_the_host(count: int) -> None:
    """Each adds the same."""
    rig = Rig()
    launch = Launch(f"arguments_{count}", 1, 32, tuple(range(count)))
    held = rig.host_ns(lambda: rig.device.launch(rig.stream, launch))
    assert held == pytest.approx(LAUNCH.enqueue_ns + count * LAUNCH.argument_ns, abs=1)


@pytest.mark.parametrize("nodes", [1, 1000])
def test_a_graph_of_empty_nodes(nodes: int) -> None:
    """Nodes times the interval, and the launch."""
    rig = Rig()
    graph = rig.device.graph([EMPTY] * nodes)
    assert graph.nodes == nodes
    host = LAUNCH.graph_enqueue_ns + nodes * LAUNCH.graph_host_node_ns
    expected = host + LAUNCH.latency_ns + nodes * LAUNCH.graph_node_ns + LAUNCH.sync_ns
    assert rig.finished_ns(lambda: graph.launch(rig.stream)) == pytest.approx(expected, abs=1)


def test_nodes_of_a_graph_run_in_order() -> None:
    """A node starts after the one before has ended, by the node's gap."""
    rig = Rig()
    outs = [rig.buffer(4) for _ in range(3)]
    rig.device.graph([Launch("stamp", 1, 32, (out, 10_000)) for out in outs]).launch(rig.stream)
    times = np.array([out.read()[1:3] for out in outs]).astype(np.int64)
    gaps = times[1:, 0] - times[:-1, 1]
    assert gaps.tolist() == pytest.approx([LAUNCH.graph_node_ns - CTA] * 2, abs=32)


def test_kernels_of_a_stream_run_in_order() -> None:
    """Queued behind each other they are the stream's gap apart."""
    rig = Rig()
    outs = [rig.buffer(4) for _ in range(3)]
    for out in outs:
        rig.run("stamp", 1, 32, out, 100_000)
    times = np.array([out.read()[1:3] for out in outs]).astype(np.int64)
    gaps = times[1:, 0] - times[:-1, 1]
    assert gaps.tolist() == pytest.approx([LAUNCH.stream_gap_ns] * 2, abs=32)


def test_kernels_of_two_streams_overlap() -> None:
    """They take the longer of their times, not the sum."""
    rig = Rig()
    other = rig.device.stream()

    def both() -> None:
        rig.run("stamp", 1, 32, rig.buffer(4), 200_000)
        rig.run("stamp", 1, 32, rig.buffer(4), 200_000, stream=other)

    assert rig.finished_ns(both) < 1.2 * rig.chip.ns(200_000)


def test_a_synchronisation_waits_for_its_stream_only() -> None:
    """What runs elsewhere goes on."""
    rig = Rig()
    other = rig.device.stream()
    rig.run("stamp", 1, 32, rig.buffer(4), 2_000_000, stream=other)
    rig.run("empty", 1, 32)
    assert rig.host_ns(lambda: rig.device.synchronize(rig.stream)) < 10_000
    assert rig.host_ns(rig.device.synchronize) > 900_000


def test_the_same_seed_gives_the_same_figures() -> None:
    """Two devices of one description agree to the nanosecond."""

    def times() -> list[int]:
        rig = Rig(sim.chip.load("h200"))
        return [rig.finished_ns(lambda: rig.run("empty", 1, 32)) for _ in range(200)]

    assert times() == times()


def test_waits_of_the_host_have_a_tail() -> None:
    """The 99th percentile lies where the late share's exponential puts it."""
    rig = Rig(sim.chip.load("h200"))
    costs = rig.chip.launch
    times = [rig.finished_ns(lambda: rig.run("empty", 1, 32)) for _ in range(4000)]
    median = float(np.median(times))
    assert median == pytest.approx(9330, rel=0.02)  # launch.sync of an H200
    late = costs.stall_ns * np.log(costs.stall_chance / 0.01)
    assert float(np.percentile(times, 99)) == pytest.approx(median + late, rel=0.1)


@settings(max_examples=30)
@given(st.lists(st.sampled_from(["launch", "graph", "sync", "copy", "write"]), max_size=20))
def test_the_virtual_clock_only_moves_on(calls: list[str]) -> None:
    """Whatever is called, each reading is later than the last."""
    rig = Rig(sim.chip.load("h200"))
    graph, buffer = rig.device.graph([EMPTY] * 3), rig.buffer(1)
    work: dict[str, Callable[[], None]] = {
        "launch": lambda: rig.run("empty", 5, 32),
        "graph": lambda: graph.launch(rig.stream),
        "sync": rig.device.synchronize,
        "copy": lambda: rig.device.copy(rig.stream, 1000, to_device=True, pinned=False),
        "write": lambda: buffer.write(np.array([1], dtype=np.uint64)),
    }
    readings = [rig.device.clock_ns()]
    for call in calls:
        work[call]()
        readings.append(rig.device.clock_ns())
    assert readings == sorted(set(readings))
