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
    interpreter between them, is this finding. The time after the cure is the GPU's busy time plus
    a gap per graph node (0.4 us, measured on an H200), plus one graph launch for each wait for the
    GPU that stays in the step, since a graph cannot hold one.

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
from tailwave.rules.build import finding, heaviest, operator_of, percent, places, time
from tailwave.timeline.attribution import Cause
from tailwave.timeline.case import Case

CODE = "launch-bound"

# Time from the end of one node of a CUDA graph to the start of the next: 0.22 to 0.51 us in four
# models on an H200 with CUDA 13.0, by graphed step less the busy time of the eager one.
NODE_GAP_US = 0.4
_OPTIMISER = "Optimizer.step"


def find(case: Case) -> Finding | None:
    """Charge the step with what the GPU waited for issuing, less what a graph would still cost."""
    waited = case.cause_us(Cause.LAUNCH)
    nodes = int(case.gpu_rows.sum())
    # In a graph every node pays the same gap, whatever gap it had when launched in time.
    left = nodes * NODE_GAP_US + _segments(case) * case.attribution.launch_latency / 1e3
    recoverable = min(waited + case.cause_us(Cause.LATENCY) - left, waited)
    now, after = case.step_us, case.step_us - recoverable
    if nodes == 0:
        return None
    claim = (
        f"The GPU waits for launches {percent(waited / now)} of each step; the step's {nodes} "
        f"launches as one CUDA graph would bring {time(now)} to {time(after)}."
    )
    return finding(
        case,
        code=CODE,
        title="The host issues work more slowly than the GPU runs it",
        claim=claim,
        recoverable_us=recoverable,
        evidence=_evidence(case, waited, nodes),
        remedies=_remedies(case),
    )


def _segments(case: Case) -> int:
    """Waits for the GPU within the step: each cuts the graph in two."""
    pieces = case.attribution.pieces
    mine = (pieces.step == case.step) & (pieces.cause == Cause.SYNC)
    return len(np.unique(pieces.host_row[mine]))


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
    found += [Evidence(f"waiting for {op}, {n} times", us, "us") for op, us, n in worst]
    return found + places(case, rows[np.argsort(-ns)])


def _remedies(case: Case) -> tuple[str, ...]:
    """An optimiser that launches kernel by kernel has a cure of its own."""
    names = {case.name_of_host(int(row)) for row in case.host_rows()}
    eager_optimiser = any(name.startswith(_OPTIMISER) for name in names) and not any(
        "_fused_" in name for name in names
    )
    return ("cuda-graph", "compile", *(("fused-optimizer",) if eager_optimiser else ()))
