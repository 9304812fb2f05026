"""What do launches cost, one by one and as a graph?

Published: A100 2.62 us on a stream and 1.34 us as a node, H200 2.43 and 1.26 (RRZE gpu-benches).

A launch on a stream takes the host's driver, a doorbell and the GPU's front end each time; a graph
node takes none of the host's time and was prepared before. Hence two bounds on any GPU:

- A graph node costs less than a launch in a full stream. One that costs as much means that graphs
  bring nothing (CRITICAL): the cure for small kernels is gone.
- Launching a graph holds the host less than launching its nodes one by one, for that is what a
  graph is for (WARNING).
"""

from __future__ import annotations

from tailwave.gpu.verdicts.criteria import quotient, times
from tailwave.gpu.verdicts.measurements import Measurements, amount, amounts, listed, sentences
from tailwave.model import Criterion, Health

LINK = "launch"
PROBES = ("launch",)
_CHAIN = 1000  # kernels in the example: a number that scales in the head


def criteria(figures: Measurements) -> tuple[Criterion, ...]:
    """Hold graphs against launches one by one."""
    graph = figures.get("launch.graph_launch_host")
    nodes = int(graph.parameters.get("nodes", 1))
    return (
        quotient(
            "a graph node against a launch in a full stream",
            figures.get("launch.graph_node"),
            figures.get("launch.back_to_back"),
            most=1.0,
        ),
        quotient(
            f"a graph of {nodes} nodes against {nodes} launch calls, in time that the host is held",
            graph,
            times(figures.get("launch.enqueue"), nodes),
            most=1.0,
            breach=Health.WARNING,
        ),
    )


def claim(figures: Measurements) -> str:
    """Word the cost of a launch either way."""
    return listed(
        ("graph node", figures.get("launch.graph_node")),
        ("stream launch", figures.get("launch.back_to_back")),
        ("launch + wait", figures.get("launch.sync")),
    )


def meaning(figures: Measurements) -> str:
    """Say what a chain of small kernels costs, and what reading a result does."""
    stream, node = figures.get("launch.back_to_back"), figures.get("launch.graph_node")
    wait = figures.get("launch.sync")
    one_by_one, as_graph = amounts(stream, node, times=_CHAIN)
    chain = f"A chain of {_CHAIN:,} small kernels costs {one_by_one} in a stream"
    return sentences(
        (f"{chain} and {as_graph} as a graph.", (stream, node)),
        (f"Each result that the host waits for costs {amount(wait)}.", (wait,)),
    )
