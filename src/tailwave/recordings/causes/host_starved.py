"""Nothing on the host was issuing work: the input pipeline, preprocessing, a sleep.

What it means:
    The GPU idles because the host is busy with something else, or with nothing: it reads and
    decodes the next batch, computes on the CPU, waits for a lock or a socket. A faster GPU, fewer
    launches or a CUDA graph change nothing here.

How it is found:
    The issuing thread is in no operator and no runtime call for at least half a millisecond and
    ten times its usual pause between calls, or for a whole millisecond, or it is in an operator
    of 0.1 ms or more that issues nothing, or within the framework's data loader. That lost time
    is charged to the idle gaps that follow. Shorter pauses are the interpreter's own and belong
    to launch-bound.

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
from tailwave.recordings.causes.build import finding, heaviest, idle, times, worth
from tailwave.recordings.replay.division import Cause
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.timeline.case import Case

CODE = "host-starved"


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Compare the step with the same step when the host never stops to issue."""
    rows, ns = idle(forecast, Cause.STARVED)
    if len(rows) == 0:
        return None
    brings = worth(forecast, "no-input-stall", forecast.division.us(Cause.STARVED))
    worst = heaviest([case.name_of_host(row) for row in rows.tolist()], ns)
    label, longest, _ = worst[0]
    claim = (
        f"The GPU idles {brings.part} of each step because the host issues nothing "
        f"({label}, {time(case.a_step(longest))}); fed in time, {brings.gain}."
    )
    idle_us = forecast.division.us(Cause.STARVED)
    evidence = [Evidence("GPU idle while the host issued nothing", idle_us, "us")]
    for label, total, count in worst:
        each = times(count / len(case.steps))
        evidence.append(Evidence(f"host in {label}, {each}", case.a_step(total), "us"))
    return finding(
        brings,
        code=CODE,
        title="The host does something else while the GPU has nothing to do",
        claim=claim,
        evidence=evidence,
        cures=("prefetch", "gpu-preprocessing"),
    )
