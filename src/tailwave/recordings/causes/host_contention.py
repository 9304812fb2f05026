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
from tailwave.model import Evidence, Finding, Ints
from tailwave.recordings.causes.build import finding, heaviest, times, worth
from tailwave.recordings.replay.division import Cause
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.hostwork import Activity

CODE = "host-contention"


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Compare the step with the same step when no host work is stretched."""
    labels, lengths = _stretched(case)
    if not labels:
        return None
    brings = worth(forecast, "no-contention", forecast.division.us(Cause.CONTENTION))
    often = len(labels) / len(case.steps)
    claim = (
        f"Host work is stretched {times(often)} in a step (longest {time(lengths.max() / 1e3)}), "
        f"for which the GPU idles {brings.part} of it; unstretched, {brings.gain}."
    )
    evidence = [
        Evidence(
            "GPU idle after stretched host work", forecast.division.us(Cause.CONTENTION), "us"
        ),
        Evidence("stretched pieces of host work", often, "count"),
    ]
    for label, total, count in heaviest(labels, lengths):
        each = times(count / len(case.steps))
        evidence.append(Evidence(f"{label}, {each}", case.a_step(total), "us"))
    return finding(
        brings,
        code=CODE,
        title="Host calls take far longer than the same calls elsewhere",
        claim=claim,
        evidence=evidence,
        cures=("free-the-gil", "host-threads", "cuda-graph"),
    )


def _stretched(case: Case) -> tuple[list[str], Ints]:
    """Labels and lengths (ns) of the stretched pieces of host work within the steps."""
    low, high = case.steps.host_start[0], case.steps.host_end[-1]
    labels: list[str] = []
    lengths = [np.zeros(0, dtype=np.int64)]
    for work in case.work:
        mine = (work.activity == Activity.STRETCHED) & (work.start >= low) & (work.start < high)
        lengths.append((work.end - work.start)[mine])
        for row, pause in zip(work.row[mine].tolist(), work.pause[mine].tolist(), strict=True):
            name = case.name_of_host(row)
            labels.append(f"the pause after {name}" if pause else name)
    return labels, np.concatenate(lengths)
