"""One rank begins the collectives last, and all others wait for it.

What it means:
    A collective cannot end before its last rank has begun it. Whatever makes one rank late (its
    input, its host, more work than the others have, a slower GPU) is paid by all of them, and shows
    on the others as time in NCCL or RCCL.

How it is found:
    With the recordings of several ranks: their collectives are paired in order, the clocks aligned
    by the moments at which the pairs end, and each rank's time in a collective before the last one
    has begun is waiting. How much the run would gain follows from the late rank's own findings.

What cures it:
    The late rank's own findings, which the report shows. Even shares of work, where that rank has
    more kernel time than the others.

What fools it:
    The profiler makes ranks late by itself: compare with steps timed without it. A rank that was
    late once says nothing of the habit. Collectives in other orders cannot be paired.
"""

from __future__ import annotations

import numpy as np

from tailwave.figures import time
from tailwave.model import Evidence, Finding
from tailwave.recordings.causes.build import finding, taken_alone
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.timeline.case import Case

CODE = "straggler"


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Say which rank the others wait for, and how long."""
    waits = case.rank_waits
    if waits is None:
        return None
    often, late_ns = waits.late_ns(waits.late)
    # The others' waiting, in the steps of this recording.
    mine = np.isin(waits.rows[case.place], np.flatnonzero(case.gpu_rows))
    waited = case.a_step(waits.waited[:, mine].max(axis=0).sum())
    if not often:
        return None
    rank = waits.ranks[waits.late]
    others = "the others wait" if len(waits.ranks) > 2 else "the other waits"  # noqa: PLR2004
    claim = (
        f"Rank {rank} begins {often} of {waits.rows.shape[1]} collectives last, by "
        f"{time(late_ns / 1e3)} on average, and {others} {time(waited)} a step in them."
    )
    return finding(
        taken_alone(forecast, waited),
        code=CODE,
        title="One rank is late, and the others wait for it",
        claim=claim,
        evidence=[
            Evidence(f"rank {other} waits in collectives", case.a_step(total), "us")
            for other, total in zip(waits.ranks, waits.waited[:, mine].sum(axis=1), strict=True)
        ],
        cures=(),
    )
