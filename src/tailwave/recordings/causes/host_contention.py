"""Host work is stretched: the interpreter lock, or more threads than cores.

What it means:
    The same operator, call or pause that usually takes microseconds now and then takes
    milliseconds, at no fixed place. The issuing thread was ready but did not run: another thread
    held Python's lock (it is handed over every 5 ms), or the cores were taken.

How it is found:
    Each piece of host work (a call, or the pause between two calls) is compared with the lower
    quartile of its own kind in the recording and with the same place in other steps. What takes
    more than ten times as long, and 0.2 ms more, is stretched. Pauses of a millisecond after more
    than a tenth of all calls count as stretched throughout: an input pipeline stalls at one
    place, a contended lock at every place.

What cures it:
    free-the-gil: move Python work of other threads to processes, or to code that releases the
    lock. host-threads: give the issuing thread a core (taskset, numactl, container limits),
    OMP_NUM_THREADS and torch.set_num_threads no higher than the cores at hand. cuda-graph: fewer
    host calls, fewer chances to be held.

What fools it:
    Garbage collection and first calls (lazy loading of kernels, autotuning) stretch host work
    without any contention. A steady slow-down of every call by the same factor has nothing in the
    recording to be compared with and reads as launch-bound.
"""

from __future__ import annotations

import numpy as np

from tailwave.figures import time
from tailwave.model import Evidence, Finding
from tailwave.recordings.causes.build import finding, gain, heaviest, share_saved, times
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.replay.host_changes import unstretched
from tailwave.recordings.timeline.attribution import Cause
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.hostwork import Activity

CODE = "host-contention"


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Compare the step with the same step when no host work is stretched."""
    lost = case.cause_us(Cause.CONTENTION)
    labels, lengths = _stretched(case)
    if lost <= 0 or not lengths:
        return None
    after = forecast.after(unstretched).step_us
    claim = (
        f"Host work is stretched {times(len(lengths))} in a step (longest "
        f"{time(max(lengths))}), for which the GPU idles "
        f"{share_saved(forecast, after)} of it; unstretched, {gain(forecast, after)}."
    )
    worst = heaviest(labels, lengths)
    return finding(
        forecast,
        code=CODE,
        title="Host calls take far longer than the same calls elsewhere",
        claim=claim,
        after_us=after,
        evidence=[
            Evidence("GPU idle after stretched host work", lost, "us"),
            Evidence("stretched pieces of host work", float(len(lengths)), "count"),
            *(Evidence(f"{label}, {times(n)}", us, "us") for label, us, n in worst),
        ],
        cures=("free-the-gil", "host-threads", "cuda-graph"),
    )


def _stretched(case: Case) -> tuple[list[str], list[float]]:
    low, high = case.steps.host_start[case.step], case.steps.host_end[case.step]
    labels: list[str] = []
    lengths: list[float] = []
    for work in case.attribution.work:
        mine = (work.activity == Activity.STRETCHED) & (work.start >= low) & (work.start < high)
        for index in np.flatnonzero(mine):
            name = case.name_of_host(int(work.row[index]))
            labels.append(f"the pause after {name}" if work.pause[index] else name)
            lengths.append(float(work.end[index] - work.start[index]) / 1e3)
    return labels, lengths
