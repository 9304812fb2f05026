"""What does a launch cost?

Published, small kernels (RRZE gpu-benches): on a stream A100 2.62, L40 1.64, H200 2.43 us each, and
1.34, 0.94 and 1.26 us as nodes of a graph.

The article holds that launching gets slower with the number of SMs; it timed no launch. A launch
is several costs, kept apart here, all of an empty kernel:

- ``launch.enqueue``: how long the host is held by one launch call (us).
- ``launch.sync``: one launch, and waiting for it (us): what a step costs that reads its result.
- ``launch.back_to_back``: time a launch adds to a queue, the slope (T128 - T1) / 127 (us); kernels
  shorter than this leave the GPU waiting.
- ``launch.graph_node``: time a node adds to a CUDA graph, by the same slope (us). Well below
  ``back_to_back``, or graphs do not help here.
- ``launch.graph_launch_host``: how long the host is held by launching a whole graph (us).
- ``launch.per_argument``: host time that each further 8-byte argument adds (ns); around 0 when the
  call's other costs hide it.
- ``launch.host_loop``: a step of an empty loop on this host (ns). It is no launch: all the others
  but ``graph_node`` grow with it, so it tells a slow host from a slow launch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tailwave.gpu.devices.base import Feature, Launch, NotSupportedError
from tailwave.gpu.probes.lab import Lab
from tailwave.gpu.probes.parts import Better, Headline, Part, Probe, Results
from tailwave.stats import slope

_EMPTY = Launch("empty", 1, 32)
_QUEUE = 128  # below what the driver queues before it holds the host
_GRAPH_NODES = 1000
_GRAPH_NODES_QUICK = 250
_HOST_GRAPH_NODES = 100
_LOOP_STEPS = 20_000
_ARGUMENTS = (1, 16, 32, 64)
_ARGUMENT_LAUNCHES = 64


def _plain(lab: Lab) -> Results:
    def queue(count: int) -> Callable[[], None]:
        return lambda: _repeat(lab, _EMPTY, count)

    def back_to_back() -> float:
        one, many = (lab.finished_us(queue(count)) for count in (1, _QUEUE))
        return (many - one) / (_QUEUE - 1)

    def wait() -> float:
        return lab.typical(lambda: lab.finished_us(queue(1)))

    measure = lab.measure
    yield measure(
        "launch.enqueue", "us", lambda: lab.held_us(queue(_QUEUE)) / _QUEUE, headline=True
    )
    yield measure("launch.sync", "us", wait, headline=True)
    yield measure("launch.back_to_back", "us", back_to_back, headline=True)


def _repeat(lab: Lab, launch: Launch, count: int) -> None:
    for _ in range(count):
        lab.device.launch(lab.stream, launch)


def _graphs(lab: Lab) -> Results:
    lab.need(Feature.GRAPHS)
    nodes = _GRAPH_NODES_QUICK if lab.quick else _GRAPH_NODES
    one, many, host = (
        partial(lab.device.graph([_EMPTY] * count).launch, lab.stream)
        for count in (1, nodes + 1, _HOST_GRAPH_NODES)
    )

    def node() -> float:
        return (lab.finished_us(many) - lab.finished_us(one)) / nodes

    measure = lab.measure
    yield measure("launch.graph_node", "us", node, headline=True)
    yield measure(
        "launch.graph_launch_host",
        "us",
        lambda: lab.typical(lambda: lab.held_us(host)),
        parameters={"nodes": _HOST_GRAPH_NODES},
        headline=True,
    )


def _arguments(lab: Lab) -> Results:
    launches = [Launch(f"arguments_{count}", 1, 32, tuple(range(count))) for count in _ARGUMENTS]

    def per_argument() -> float:
        held = [
            lab.held_us(partial(_repeat, lab, launch, _ARGUMENT_LAUNCHES)) / _ARGUMENT_LAUNCHES
            for launch in launches
        ]
        return slope(_ARGUMENTS, held)[1] * 1000

    yield lab.measure("launch.per_argument", "ns", per_argument)


def _host(lab: Lab) -> Results:
    if lab.device.facts.simulated:
        raise NotSupportedError("The host of a simulated device is simulated too.")

    def step() -> float:
        return lab.timed_us(_loop) / _LOOP_STEPS * 1000

    yield lab.measure("launch.host_loop", "ns", step)


def _loop() -> None:
    for _ in range(_LOOP_STEPS):
        pass


HEADLINES = {
    "launch.enqueue": Headline(
        "a launch call",
        Better.LESS,
        "how many kernels a second one host thread can issue",
        host=True,
    ),
    "launch.sync": Headline(
        "a launch and waiting for it",
        Better.LESS,
        "what a step costs whose result the host reads, such as a token that is sampled",
        host=True,
    ),
    "launch.back_to_back": Headline(
        "a launch in a full stream",
        Better.LESS,
        "how short kernels may be before the GPU waits for launches",
        host=True,
    ),
    "launch.graph_node": Headline(
        "a node of a CUDA graph", Better.LESS, "how long a chain of small kernels takes as a graph"
    ),
    "launch.graph_launch_host": Headline(
        "launching a CUDA graph",
        Better.LESS,
        "how long the host is held by a step that is a graph",
        host=True,
    ),
}
PROBE = Probe(
    "launch",
    (
        Part(("launch.enqueue", "launch.sync", "launch.back_to_back"), _plain),
        Part(("launch.graph_node", "launch.graph_launch_host"), _graphs),
        Part(("launch.per_argument",), _arguments),
        Part(("launch.host_loop",), _host),
    ),
    HEADLINES,
)
