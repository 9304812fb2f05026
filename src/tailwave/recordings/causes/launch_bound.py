"""The GPU waits for the host to issue work.

What it means:
    Each kernel is issued by the host: the framework's operator, the runtime call, the driver's
    write to the queue. That takes some microseconds a kernel, whatever the kernel does. When
    kernels run for less time than it takes to issue them, the GPU idles between them, and a
    faster GPU changes nothing.

How it is found:
    The division of the step shows it: idle time in which the host was issuing the work that ended
    it. The gain comes from a replay: the step as one graph launch takes its kernel time, plus the
    time between the graph's nodes (140 ns and 8% of the node's time, at most 4 us of it, as
    measured on an H200). Waits for the GPU stay and cut the graph, since it cannot hold one.

What cures it:
    cuda-graph: record the step once, replay it with one launch (torch.cuda.graph,
    torch.cuda.make_graphed_callables). compile: torch.compile(mode="reduce-overhead") fuses
    kernels and wraps them in graphs. fused-optimizer: one kernel for many parameters. larger
    batches, when latency does not matter.

What fools it:
    The profiler itself: it lengthens every operator and call, so the time of a step in the trace
    is longer than without it, and the gain in milliseconds is overstated. Kernel times are not.
"""

from __future__ import annotations

import numpy as np

from tailwave.model import Evidence, Finding
from tailwave.recordings.causes.build import (
    counted,
    finding,
    heaviest,
    idle,
    operators,
    places,
    worth,
)
from tailwave.recordings.replay.division import Cause
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.timeline.case import Case

CODE = "launch-bound"


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Compare the step with the same step issued as CUDA graphs."""
    launch = case.timeline.gpu.launch[case.gpu_rows]
    launches = len(np.unique(launch[launch >= 0])) / len(case.steps)
    if not launches:
        return None
    brings = worth(forecast, "cuda-graph", forecast.division.us(Cause.LAUNCH))
    graphs = "CUDA graphs" if brings.notes else "one CUDA graph"
    issued = counted(launches, "launch", "launches")
    if forecast.division.us(Cause.LAUNCH) >= forecast.division.us(Cause.SYNC):
        waits = f"The GPU waits for launches {brings.part} of each step; with its {issued}"
    else:
        waits = f"After its waits the host issues too slowly for the GPU; with its {issued} a step"
    claim = f"{waits} as {graphs} {brings.gain}."
    return finding(
        brings,
        code=CODE,
        title="The host issues work more slowly than the GPU runs it",
        claim=claim,
        evidence=_evidence(case, forecast, launches),
        cures=("cuda-graph", "compile"),
    )


def _evidence(case: Case, forecast: Forecast, launches: float) -> list[Evidence]:
    rows, ns = idle(forecast, Cause.LAUNCH)
    share_idle = float(forecast.division.ns[:, Cause.LAUNCH :].sum() / case.steps.duration.sum())
    host_us = share_idle * case.step_us
    found = [
        Evidence("GPU idle while the host was issuing", forecast.division.us(Cause.LAUNCH), "us"),
        Evidence("GPU busy", 1 - share_idle, "ratio"),
        Evidence("launches in the step", launches, "count"),
        Evidence("GPU idle per launch", host_us / launches, "us"),
    ]
    for name, total, _ in heaviest(operators(case, rows), case.timeline.names.__getitem__, ns):
        found.append(Evidence(f"waiting for {name}", case.a_step(total), "us"))
    return found + places(case, rows)
