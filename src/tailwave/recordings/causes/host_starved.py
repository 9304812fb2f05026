"""Nothing on the host was issuing work: the input pipeline, preprocessing, a sleep.

What it means:
    The GPU idles because the host is busy with something else, or with nothing: it reads and
    decodes the next batch, computes on the CPU, waits for a lock or a socket. A faster GPU, fewer
    launches or a CUDA graph change nothing here.

How it is found:
    The calls that put work on a GPU or wait for it are the joints of a thread's time. What lies
    between two of them, in operators that launch nothing and in no call at all, is work of its own
    from half a millisecond on, and so is a single operator of 0.1 ms that makes no call, and all
    within the framework's data loader. It is named by the outermost annotation, Python frame,
    operator or call that lies over most of it. The gain comes from a replay without it.

What cures it:
    prefetch: DataLoader(num_workers=..., pin_memory=True, prefetch_factor=...), preparing the
    next batch while the GPU runs this one. gpu-preprocessing: move the work to the GPU.

What fools it:
    A recording without Python stacks shows a pause but not what filled it: record with
    with_stack=True to see it. A pause of Python code that does issue work (a slow training loop)
    is called starvation when it is long.
"""

from __future__ import annotations

from tailwave.figures import time
from tailwave.model import Evidence, Finding
from tailwave.recordings.causes.build import finding, times, worth
from tailwave.recordings.causes.stretches import heaviest_work
from tailwave.recordings.replay.division import Cause
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.hostwork import Activity

CODE = "host-starved"


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Compare the step with the same step when the host never stops to issue."""
    worst = heaviest_work(case, Activity.STARVED)
    if not worst:
        return None
    idle_us = forecast.division.us(Cause.STARVED)
    brings = worth(forecast, "no-input-stall", idle_us)
    label, longest, _ = worst[0]
    claim = (
        f"The GPU idles {brings.part} of each step because the host issues nothing "
        f"({label}, {time(longest)} a step); fed in time, {brings.gain}."
    )
    return finding(
        brings,
        code=CODE,
        title="The host does something else while the GPU has nothing to do",
        claim=claim,
        evidence=[
            Evidence("GPU idle while the host issued nothing", idle_us, "us"),
            *(Evidence(f"host in {name}, {times(n)}", us, "us") for name, us, n in worst),
        ],
        cures=("prefetch", "gpu-preprocessing"),
    )
