"""The GPU waits for the host to issue work.

What it means:
    Each kernel is issued by the host: the framework's operator, the runtime call, the driver's
    write to the queue. That takes some microseconds a kernel, whatever the kernel does. When
    kernels run for less time than it takes to issue them, the GPU idles between them, and a
    faster GPU changes nothing.

How it is found:
    A gap on the GPU ends when a kernel starts. If that kernel's launch call began only after the
    GPU had run dry, the host was late. What the host lost by waiting, copying, starving or being
    stretched is charged to those causes first; the rest, spent in operators, launch calls and the
    interpreter between them, is this finding. The time after the cure comes from a replay in which
    each step is one graph launch and its kernels follow each other by a node's gap (0.4 us,
    measured on an H200). Waits for the GPU stay and cut the graph, since it cannot hold one. Where
    another of the host's causes left the GPU idle for longer, only what remains after its cure
    counts here.

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
    gain,
    heaviest,
    operator_of,
    places,
    share_saved,
    times,
)
from tailwave.recordings.replay.change import Change
from tailwave.recordings.replay.copy_changes import async_copy
from tailwave.recordings.replay.forecast import Forecast, Outlook
from tailwave.recordings.replay.host_changes import cuda_graph, fed, no_sync, unstretched
from tailwave.recordings.timeline.attribution import Cause
from tailwave.recordings.timeline.case import Case

CODE = "launch-bound"

_OPTIMISER = "Optimizer.step"


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Compare the step with the same step issued as CUDA graphs."""
    waited = case.cause_us(Cause.LAUNCH)
    nodes = int(case.gpu_rows.sum())
    if waited <= 0 or nodes == 0:
        return None
    outlook = forecast.after(cuda_graph)
    first = _cured_first(case, waited)
    if first:
        # What the cure of a greater cause brings back too is that cause's.
        gain_left = forecast.after(*first).step_us - forecast.after(*first, cuda_graph).step_us
        outlook = Outlook(max(outlook.step_us, forecast.now_us - gain_left), outlook.notes)
    graphs = "CUDA graphs" if outlook.notes else "one CUDA graph"
    claim = (
        f"The GPU waits for launches {share_saved(forecast, outlook.step_us)} of each step; with "
        f"its {counted(nodes, 'launch', 'launches')} as {graphs} "
        f"{gain(forecast, outlook.step_us)}."
    )
    return finding(
        forecast,
        code=CODE,
        title="The host issues work more slowly than the GPU runs it",
        claim=claim,
        after_us=outlook.step_us,
        evidence=[*_evidence(case, waited, nodes), *(Evidence(note) for note in outlook.notes)],
        cures=_cures(case),
    )


def _cured_first(case: Case, waited: float) -> list[Change]:
    """Cures of the host's other causes that left the GPU idle for longer than issuing did."""
    cures = (
        (Cause.SYNC, no_sync),
        (Cause.STARVED, fed),
        (Cause.CONTENTION, unstretched),
        (Cause.BLOCKED_COPY, async_copy),
    )
    return [cure for cause, cure in cures if case.cause_us(cause) > waited]


def _evidence(case: Case, waited: float, nodes: int) -> list[Evidence]:
    pieces = case.attribution.pieces
    mine = (pieces.step == case.step) & (pieces.cause == Cause.LAUNCH)
    rows, ns = pieces.host_row[mine], pieces.ns[mine]
    rows, ns = rows[rows >= 0], ns[rows >= 0]
    busy = case.step_us - float(case.attribution.ns[case.step, 2:].sum()) / 1e3
    found = [
        Evidence("GPU idle while the host was issuing", waited, "us"),
        Evidence("GPU busy", busy / case.step_us, "ratio"),
        Evidence("launches in the step", float(nodes), "count"),
        Evidence("host time per launch", (case.step_us - busy) / max(nodes, 1), "us"),
    ]
    worst = heaviest((operator_of(case, int(row)) for row in rows), ns / 1e3)
    found += [Evidence(f"waiting for {op}, {times(n)}", us, "us") for op, us, n in worst]
    return found + places(case, rows[np.argsort(-ns)])


def _cures(case: Case) -> tuple[str, ...]:
    """An optimiser that launches kernel by kernel has a cure of its own."""
    names = {case.name_of_host(int(row)) for row in case.host_rows()}
    eager_optimiser = any(name.startswith(_OPTIMISER) for name in names) and not any(
        "_fused_" in name for name in names
    )
    return ("cuda-graph", "compile", *(("fused-optimizer",) if eager_optimiser else ()))
