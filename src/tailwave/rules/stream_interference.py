"""A kernel whose own stream is free waits, or runs longer, because another stream holds the SMs.

What it means:
    CTAs are not evicted once they run. A large kernel of another stream fills every SM, and a
    small kernel that is ready waits until CTAs of the large one end; then it shares SMs, cache
    and bandwidth with it. Stream priority orders only what still waits, so it cannot help here.

How it is found:
    A kernel is ready when its launch has reached the GPU and its stream is free. Waiting while
    kernels of other streams run, and running longer than the same kernel does alone, is the time
    lost. It counts only when nothing in the step joins the streams (no stream waits for an
    event), for else the step needs the other work too, and no more than the time for which the
    host waited for the GPU.

What cures it:
    partition: SMs of its own for the latency-critical stream (a green context); measured on an
    H200 beside a tenant of large GEMMs: 14 times faster. Smaller tenant kernels. Running the two
    one after the other, when that is allowed.

What fools it:
    Dependencies that the recording does not hold (events waited for by another process) look like
    interference. The gain assumes that the stream runs as it does alone; with fewer SMs a large
    kernel takes longer, and the other stream pays.
"""

from __future__ import annotations

import numpy as np

from tailwave.model import Evidence, Finding, Ints
from tailwave.rules.build import finding, heaviest, percent, short, time
from tailwave.timeline.case import Case
from tailwave.timeline.hostwork import Activity
from tailwave.timeline.interference import most_delayed_stream, streams_are_joined

CODE = "stream-interference"


def find(case: Case) -> Finding | None:
    """Charge the step with what its most delayed stream lost to the others."""
    if streams_are_joined(case.timeline, case.steps):
        return None
    rows = victim_rows(case)
    if len(rows) == 0:
        return None
    waited = float(case.interference.waited[rows].sum()) / 1e3
    stretched = float(case.interference.stretched[rows].sum()) / 1e3
    now = case.step_us
    recoverable = min(waited + stretched, host_waited_us(case))
    stream = int(case.timeline.gpu.stream[rows[0]])
    claim = (
        f"Kernels of stream {stream} are held up {percent((waited + stretched) / now)} of each "
        f"step by other streams' kernels; on SMs of their own {time(now)} would be about "
        f"{time(now - recoverable)}."
    )
    return finding(
        case,
        code=CODE,
        title="Another stream holds the SMs",
        claim=claim,
        recoverable_us=recoverable,
        evidence=_evidence(case, rows, waited, stretched),
        remedies=("partition",),
    )


def victim_rows(case: Case) -> Ints:
    """The step's rows of the stream that lost the most to other streams."""
    mine = np.flatnonzero(case.gpu_rows)
    stream = most_delayed_stream(case.timeline, case.interference, mine)
    return mine[case.timeline.gpu.stream[mine] == stream] if stream >= 0 else mine[:0]


def host_waited_us(case: Case) -> float:
    """Time of the step that the host waited for the GPU (us): what a faster GPU can give back."""
    low, high = case.steps.host_start[case.step], case.steps.host_end[case.step]
    total = 0
    for work in case.attribution.work:
        mine = (work.activity == Activity.SYNC) & (work.start >= low) & (work.start < high)
        total += int((work.end - work.start)[mine].sum())
    return total / 1e3


def _evidence(case: Case, rows: Ints, waited: float, stretched: float) -> list[Evidence]:
    seen = case.interference
    held = rows[seen.waited[rows] > 0]
    names = _holders(case, held)
    worst = heaviest(names, seen.waited[held] / 1e3)
    return [
        Evidence("kernels ready but waiting", waited, "us"),
        Evidence("kernels running longer than alone", stretched, "us"),
        Evidence("kernels held up", float(len(held)), "count"),
        *(Evidence(f"waiting for {name}", us, "us") for name, us, _ in worst),
    ]


def _holders(case: Case, held: Ints) -> list[str]:
    """Names of the kernels that ran on the holding stream when each row began to wait."""
    gpu = case.timeline.gpu
    names: list[str] = []
    for row in held:
        others = np.flatnonzero(gpu.stream == case.interference.holder[row])
        position = int(np.searchsorted(gpu.start[others], gpu.start[row])) - 1
        names.append(short(case.name_of_gpu(int(others[max(position, 0)]))))
    return names
