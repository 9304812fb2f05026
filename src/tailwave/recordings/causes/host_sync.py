"""The host waited for the GPU, and then the GPU waits for the host.

What it means:
    A call that waits for the GPU (.item(), .cpu(), nonzero, a synchronize) holds the host until
    everything issued so far has run. Until then nothing more is issued, so when the wait ends the
    GPU has run dry, and it stays dry until the host has issued its next kernel.

How it is found:
    Calls that hold the host (synchronizes, copies to the host, allocations that stop the device)
    are taken with the operator that exists only for their sake, such as aten::item. A gap of the
    GPU in which the host was in one, and the issuing right after it, is the wait's. The gain
    comes from a replay in which the host never waits.

What cures it:
    remove-sync: keep the value on the GPU (torch.where instead of if, a tensor for the loss,
    logging every n steps), copy with non_blocking=True into pinned memory and read it later.
    masked-ops: fixed shapes with a mask instead of nonzero or boolean indexing.

What fools it:
    A wait in a step whose GPU is always busy costs nothing and is not charged. A program that
    needs the value at once (a data-dependent loop) cannot do without the wait. Under the profiler
    the operators around a wait take longer than without.
"""

from __future__ import annotations

import numpy as np

from tailwave.model import Evidence, Finding, Ints
from tailwave.recordings.causes.build import (
    finding,
    heaviest,
    idle,
    operators,
    places,
    times,
    worth,
)
from tailwave.recordings.replay.change import in_steps, waits
from tailwave.recordings.replay.division import Cause
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.hostwork import Activity

CODE = "host-sync"


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Compare the step with the same step without its waits."""
    calls = _waiting_calls(forecast)
    if not len(calls):
        return None
    brings = worth(forecast, "no-sync", forecast.division.us(Cause.SYNC))
    steps = forecast.recorded.step_count
    claim = (
        f"The host waits for the GPU {times(len(calls) / steps)} a step, and the GPU then waits "
        f"for the host {brings.part} of it; without the waits {brings.gain}."
    )
    rows, ns = idle(forecast, Cause.SYNC)
    evidence = [
        Evidence("GPU idle after the host had waited", forecast.division.us(Cause.SYNC), "us")
    ]
    for label, total, _ in heaviest(operators(case, rows), case.timeline.names.__getitem__, ns):
        evidence.append(Evidence(f"idle after {label}", case.a_step(total), "us"))
    labels = _labels(case, calls)
    for label, _, count in heaviest(np.arange(len(calls)), labels.__getitem__, np.ones(len(calls))):
        evidence.append(Evidence(f"waits in {label}", count / steps, "count"))
    return finding(
        brings,
        code=CODE,
        title="The host stops to wait for the GPU",
        claim=claim,
        evidence=evidence + places(case, calls),
        cures=("remove-sync",),
    )


def _waiting_calls(forecast: Forecast) -> Ints:
    """The calls of the replayed steps that wait for the GPU (host rows)."""
    program = forecast.recorded
    waiting = waits(program) & in_steps(program) & (program.activity == Activity.SYNC)
    return np.asarray(program.host_row[waiting], dtype=np.int64)


def _labels(case: Case, calls: Ints) -> list[str]:
    called = [case.name_of_host(row) for row in calls.tolist()]
    outer = [case.timeline.names[code] for code in operators(case, calls).tolist()]
    return [
        operator if operator == call else f"{operator} ({call})"
        for operator, call in zip(outer, called, strict=True)
    ]
