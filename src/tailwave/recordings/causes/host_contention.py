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

from tailwave.figures import time
from tailwave.model import Evidence, Finding
from tailwave.recordings.causes.build import finding, times, worth
from tailwave.recordings.causes.stretches import heaviest_work, lengths
from tailwave.recordings.replay.division import Cause
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.hostwork import Activity

CODE = "host-contention"


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Compare the step with the same step when no host work is stretched."""
    stretched = lengths(case, Activity.STRETCHED)
    if len(stretched) == 0:
        return None
    idle_us = forecast.division.us(Cause.CONTENTION)
    brings = worth(forecast, "no-contention", idle_us)
    often = len(stretched) / len(case.steps)
    longest = time(stretched.max() / 1e3)
    claim = (
        f"Host work is stretched {times(often)} in a step (longest {longest}), for which the GPU "
        f"idles {brings.part} of it; unstretched, {brings.gain}."
    )
    worst = heaviest_work(case, Activity.STRETCHED)
    return finding(
        brings,
        code=CODE,
        title="Host calls take far longer than the same calls elsewhere",
        claim=claim,
        evidence=[
            Evidence("GPU idle after stretched host work", idle_us, "us"),
            Evidence("stretched pieces of host work", often, "count"),
            *(Evidence(f"{name}, {times(n)}", us, "us") for name, us, n in worst),
        ],
        cures=("free-the-gil", "host-threads", "cuda-graph"),
    )
