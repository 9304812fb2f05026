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
from tailwave.recordings.causes.build import finding, gain, heaviest, share_saved
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.replay.gpu_changes import isolated
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
    waited = float(case.interference.waited[rows].sum()) / 1e3
    stretched = float(case.interference.stretched[rows].sum()) / 1e3
    outlook = forecast.after(isolated)
    stream = int(case.timeline.gpu.stream[rows[0]])
    claim = (
        f"Kernels of stream {stream} are held up by other streams' kernels for "
        f"{share_saved(forecast, outlook.step_us)} of each step; on SMs of their own "
        f"{gain(forecast, outlook.step_us)}."
    )
    return finding(
        forecast,
        code=CODE,
        title="Another stream holds the SMs",
        claim=claim,
        after_us=outlook.step_us,
        evidence=[*_evidence(case, rows, waited, stretched), *map(Evidence, outlook.notes)],
        cures=("partition",),
    )


def victim_rows(case: Case) -> Ints:
    """The step's rows of the stream that lost the most to other streams."""
    mine = np.flatnonzero(case.gpu_rows)
    stream = most_delayed_stream(case.timeline, case.interference, mine)
    return mine[case.timeline.gpu.stream[mine] == stream] if stream >= 0 else mine[:0]


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
    running = np.zeros(len(held), dtype=np.int64)
    holder = case.interference.holder[held]
    for stream in np.unique(holder):
        mine = holder == stream
        others = np.flatnonzero((gpu.stream == stream) & (gpu.device == case.device.index))
        position = np.searchsorted(gpu.start[others], gpu.start[held[mine]]) - 1
        running[mine] = others[np.maximum(position, 0)]
    return [short(case.name_of_gpu(int(row))) for row in running]
