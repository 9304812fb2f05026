"""Some steps take far longer than the usual one, and no other cause explains it.

What it means:
    The tail of the step times is its own problem: one late step in ten holds up a request, or all
    ranks of a run, however fast the others are.

How it is found:
    A step is slow from 1.5 times the median on. Its division is laid beside that of the usual
    steps, and the share that grew most is why it is slow. Where that share is a cause with a
    finding of its own (the host starved, say), the figures stand there; else here. What the slow
    steps cost is what they took beyond the median, shared out over all steps; no change to the
    program is known that would mend it, so there is no gain.

What cures it:
    Depends on the share that grew. Kernels: clocks that fell, another program on the GPU. Work
    that was queued or a launch that is not recorded: another stream or process. Collectives:
    another rank that is late.

What fools it:
    Steps that do different work (an evaluation now and then, longer requests) are slow by nature.
    Three steps tell little of a tail: record more.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.figures import in_one_unit, time
from tailwave.model import Evidence, Finding
from tailwave.recordings.causes.build import finding, taken_alone
from tailwave.recordings.replay.division import LABELS, Cause
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.replay.sample import slow_steps
from tailwave.recordings.timeline.case import Case

CODE = "slow-steps"

# Causes with a rule of their own, which says what mends them.
_OWN = frozenset(
    {
        Cause.LAUNCH,
        Cause.SYNC,
        Cause.BLOCKED_COPY,
        Cause.COPY,
        Cause.STARVED,
        Cause.CONTENTION,
        Cause.MIGRATION,
        Cause.GRAPH,
        Cause.QUEUED,
    }
)


class Tail(msgspec.Struct, frozen=True):
    """The slow steps: how many, how long on average and usually, what they cost a step (us)."""

    slow: int
    steps: int
    mean_us: float
    usual_us: float
    cost_us: float
    cause: Cause  # the share that grew most
    grew_us: float  # by how much, in a slow step

    @property
    def evidence(self) -> Evidence:
        """What to say of them beside the finding of their cause."""
        often = f"{self.slow} of {self.steps} steps"
        return Evidence(f"{often} are slow, each by this much of it", self.grew_us, "us")

    @property
    def code(self) -> str:
        """The finding that explains them; "" where none does."""
        if self.cause == Cause.COPY:
            return "blocking-copy"
        return LABELS[self.cause][0] if self.cause in _OWN else ""


def tail(case: Case, forecast: Forecast) -> Tail | None:
    """Look at the slow steps; None where there are none."""
    length, shares = case.steps.duration, forecast.division.ns
    slow = slow_steps(length)
    if not slow.any():
        return None
    usual = float(np.median(length))
    grew = shares[slow].mean(axis=0) - shares[~slow].mean(axis=0)
    cause = Cause(int(np.argmax(grew)))
    return Tail(
        slow=int(slow.sum()),
        steps=len(length),
        mean_us=float(length[slow].mean()) / 1e3,
        usual_us=usual / 1e3,
        cost_us=case.a_step((length[slow] - usual).sum()),
        cause=cause,
        grew_us=float(grew[cause]) / 1e3,
    )


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Say what the slow steps cost where no other finding explains them."""
    seen = tail(case, forecast)
    if seen is None or seen.code:
        return None
    long, usual = in_one_unit(seen.mean_us, seen.usual_us)
    label = LABELS[seen.cause][1]
    claim = (
        f"{seen.slow} of {seen.steps} steps take {long} where the usual one takes {usual}, "
        f"{time(seen.grew_us)} of it more time of '{label}'; they cost {time(seen.cost_us)} a step."
    )
    return finding(
        taken_alone(forecast, seen.cost_us),
        code=CODE,
        title="Some steps take far longer than the others",
        claim=claim,
        evidence=[
            Evidence("slow steps", float(seen.slow), "count"),
            Evidence("usual step", seen.usual_us, "us"),
            Evidence("mean slow step", seen.mean_us, "us"),
            Evidence(f"more of '{label}' in a slow step", seen.grew_us, "us"),
        ],
        cures=(),
    )
