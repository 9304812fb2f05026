"""The stretches of host work of one kind within the steps: how long, and by what names."""

from __future__ import annotations

import numpy as np

from tailwave.model import Ints
from tailwave.recordings.causes.build import heaviest
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.hostwork import Activity, HostWork
from tailwave.recordings.timeline.work_names import WorkNames

# Stretches that are named, the longest of each lane; the others hardly count.
_MOST_NAMED = 2_000


def lengths(case: Case, activity: Activity) -> Ints:
    """Return the lengths (ns) of the stretches of an activity."""
    each = [(work.end - work.start)[_within(case, work, activity)] for work in case.work]
    return np.concatenate([np.zeros(0, dtype=np.int64), *each])


def heaviest_work(case: Case, activity: Activity) -> list[tuple[str, float, float]]:
    """Return the names with the most time of an activity: us a step, and times a step."""
    names = WorkNames(case.timeline)
    labels: list[str] = []
    spent = [np.zeros(0, dtype=np.int64)]
    for lane, work in zip(case.lanes, case.work, strict=True):
        mine = _within(case, work, activity)
        length = (work.end - work.start)[mine]
        longest = np.argsort(-length, kind="stable")[:_MOST_NAMED]
        labels += names.of(lane, work, mine[longest])
        spent.append(length[longest])
    return [
        (label, case.a_step(ns), count / len(case.steps))
        for label, ns, count in heaviest(
            np.arange(len(labels)), labels.__getitem__, np.concatenate(spent)
        )
    ]


def _within(case: Case, work: HostWork, activity: Activity) -> Ints:
    """Find the stretches of an activity that begin in the steps."""
    low, high = case.steps.host_start[0], case.steps.host_end[-1]
    mine = (work.activity == activity) & (work.start >= low) & (work.start < high)
    return np.flatnonzero(mine)
