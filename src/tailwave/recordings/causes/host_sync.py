"""The host waited for the GPU, and then the GPU waits for the host.

What it means:
    A call that waits for the GPU (.item(), .cpu(), nonzero, a synchronize) holds the host until
    everything issued so far has run. Until then nothing more is issued, so when the wait ends the
    GPU has run dry, and it stays dry until the host has issued its next kernel.

How it is found:
    Calls that hold the host (synchronizes, copies to the host, allocations that stop the device)
    are taken with the operator that exists only for their sake, such as aten::item. The time that
    the host lost there is charged to the GPU's idle gaps that follow, until it is used up.

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
    gain,
    heaviest,
    operator_of,
    places,
    share_saved,
    times,
)
from tailwave.recordings.replay.change import waits
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.replay.host_changes import no_sync
from tailwave.recordings.timeline.attribution import Cause
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.hostwork import Activity

CODE = "host-sync"


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Compare the step with the same step without its waits."""
    lost = case.cause_us(Cause.SYNC)
    if lost <= 0:
        return None
    after = forecast.after(no_sync).step_us
    pieces = case.attribution.pieces
    mine = (pieces.step == case.step) & (pieces.cause == Cause.SYNC)
    rows, ns = pieces.host_row[mine], pieces.ns[mine]
    calls = _waiting_calls(case, forecast)
    claim = (
        f"The host waits for the GPU {times(len(calls))} a step, and the GPU then waits for the "
        f"host {share_saved(forecast, after)} of it; without the waits {gain(forecast, after)}."
    )
    worst = heaviest((operator_of(case, int(row)) for row in rows), ns / 1e3)
    evidence = [Evidence("GPU idle after the host had waited", lost, "us")]
    evidence += [Evidence(f"idle after {label}", us, "us") for label, us, _ in worst]
    waited = heaviest((_label(case, int(row)) for row in calls), np.ones(len(calls)))
    evidence += [Evidence(f"waits in {label}", float(n), "count") for label, _, n in waited]
    return finding(
        forecast,
        code=CODE,
        title="The host stops to wait for the GPU",
        claim=claim,
        after_us=after,
        evidence=evidence + places(case, calls),
        cures=("remove-sync",),
    )


def _waiting_calls(case: Case, forecast: Forecast) -> Ints:
    """The step's calls that wait for the GPU (host rows)."""
    program = forecast.recorded
    waiting = waits(program) & (program.step == case.step)
    waiting &= program.activity == Activity.SYNC
    return np.asarray(program.host_row[waiting], dtype=np.int64)


def _label(case: Case, row: int) -> str:
    operator, call = operator_of(case, row), case.name_of_host(row)
    return operator if operator == call else f"{operator} ({call})"
