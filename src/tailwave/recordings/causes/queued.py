"""Work was launched and had arrived, but did not begin, and nothing recorded kept it.

What it means:
    The GPU idles as far as the recording shows, with work in its queue. It was at work that is
    not recorded (another process, a graph whose nodes were not recorded, work launched before the
    recording began), or the stream waited for an event that such work was to record. More or
    earlier launches change nothing here.

How it is found:
    An idle gap whose end is more than 100 us after the launch of the work that ended it had
    arrived, and after the work before it in its stream had ended.

What cures it:
    Nothing can be said before the work is seen: record all processes and streams of the GPU (nsys
    with --trace=cuda,nvtx and --cuda-graph-trace=node; PyTorch's profiler from before the work is
    launched, with a few steps of warm-up).

What fools it:
    Clocks of host and GPU that drift apart; a callback of the host within a stream.
"""

from __future__ import annotations

from tailwave.figures import time
from tailwave.model import Finding
from tailwave.recordings.causes.build import finding, idle_before, taken_alone
from tailwave.recordings.replay.division import Cause
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.timeline.case import Case

CODE = "queued"


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Weigh the time in which launched work did not begin."""
    taken = forecast.division.us(Cause.QUEUED)
    brings = taken_alone(forecast, taken)
    claim = (
        f"For {brings.part} of each step ({time(taken)}) the GPU has work in its queue and does "
        "not begin it: it was at work that is not recorded, or waited for an event."
    )
    return finding(
        brings,
        code=CODE,
        title="Launched work does not begin, and the recording does not show why",
        claim=claim,
        evidence=idle_before(case, forecast, Cause.QUEUED),
        cures=(),
    )
