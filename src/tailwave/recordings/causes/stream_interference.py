"""A kernel whose own stream is free waits, or runs longer, because another stream holds the SMs.

What it means:
    CTAs are not evicted once they run. A large kernel of another stream fills every SM, and a
    small kernel that is ready waits until CTAs of the large one end; then it shares SMs, cache
    and bandwidth with it. Stream priority orders only what still waits, so it cannot help here.

How it is found:
    A kernel is ready when its launch has reached the GPU and its stream is free. Waiting while
    kernels of other streams run, and running longer than the same kernel does alone, is the time
    lost. It counts only when nothing in the step joins the streams (no stream waits for an
    event), for else the step needs the other work too. The time after the cure comes from a
    replay in which the stream waits for nobody else's kernels and runs on a partition.

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

from tailwave.kernel_names import short
from tailwave.model import Evidence, Finding, Ints
from tailwave.recordings.causes.build import finding, heaviest, worth
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.interference import most_delayed_stream, streams_are_joined

CODE = "stream-interference"


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Compare the step with the same step when its most delayed stream has SMs of its own."""
    if streams_are_joined(case.timeline, case.steps):
        return None
    rows = victim_rows(case)
    if len(rows) == 0:
        return None
    waited = case.a_step(case.interference.waited[rows].sum())
    stretched = case.a_step(case.interference.stretched[rows].sum())
    brings = worth(forecast, "no-interference", waited + stretched)
    stream = int(case.timeline.gpu.stream[rows[0]])
    claim = (
        f"Kernels of stream {stream} are held up by other streams' kernels for {brings.part} of "
        f"each step; on SMs of their own {brings.gain}."
    )
    return finding(
        brings,
        code=CODE,
        title="Another stream holds the SMs",
        claim=claim,
        evidence=_evidence(case, rows, waited, stretched),
        cures=("partition",),
    )


def victim_rows(case: Case) -> Ints:
    """The steps' rows of the stream that lost the most to other streams."""
    mine = np.flatnonzero(case.gpu_rows)
    stream = most_delayed_stream(case.timeline, case.interference, mine)
    return mine[case.timeline.gpu.stream[mine] == stream] if stream >= 0 else mine[:0]


def _evidence(case: Case, rows: Ints, waited: float, stretched: float) -> list[Evidence]:
    seen = case.interference
    held = rows[seen.waited[rows] > 0]
    names = _holders(case, held)
    worst = heaviest(np.arange(len(names)), names.__getitem__, seen.waited[held])
    return [
        Evidence("kernels ready but waiting", waited, "us"),
        Evidence("kernels running longer than alone", stretched, "us"),
        Evidence("kernels held up", len(held) / len(case.steps), "count"),
        *(Evidence(f"waiting for {name}", case.a_step(ns), "us") for name, ns, _ in worst),
    ]


def _holders(case: Case, held: Ints) -> list[str]:
    """Names of the kernels that ran on the holding stream when each row began to wait."""
    gpu = case.timeline.gpu
    running = np.zeros(len(held), dtype=np.int64)
    holder = case.interference.holder[held]
    for stream in np.unique(holder):
        mine = holder == stream
        others = np.flatnonzero((gpu.stream == stream) & (gpu.device == case.device.index))
        position = np.searchsorted(gpu.start[others], gpu.start[held[mine]]) - 1
        running[mine] = others[np.maximum(position, 0)]
    return [short(case.name_of_gpu(int(row))) for row in running]
