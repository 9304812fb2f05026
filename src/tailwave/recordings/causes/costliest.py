"""The kernels, and kinds of copies, that take most of a step's GPU time."""

from __future__ import annotations

import numpy as np

from tailwave.kernel_kinds import kind_of
from tailwave.kernel_names import short
from tailwave.model import StepKernel
from tailwave.recordings.timeline.case import Case

MOST = 5


def costliest(case: Case) -> tuple[StepKernel, ...]:
    """Return the five costliest of the steps' kernels and kinds of copies, the costliest first.

    What reads the same is one. The shares are of the time of all the steps' GPU work, each piece's
    own counted, so that those of work that ran side by side do not exceed the whole.
    """
    gpu, rows = case.timeline.gpu, np.flatnonzero(case.gpu_rows)
    codes, code = np.unique(gpu.name[rows], return_inverse=True)
    full = [case.timeline.names[number] for number in codes]
    shown, first, of = np.unique(list(map(short, full)), return_index=True, return_inverse=True)
    ns = np.bincount(of[code], weights=gpu.end[rows] - gpu.start[rows])
    calls = np.bincount(of[code])
    return tuple(
        StepKernel(
            name=str(shown[one]),
            kind=kind_of(full[first[one]]),
            calls=float(calls[one]) / len(case.steps),
            us=case.a_step(ns[one]),
            share=float(ns[one] / ns.sum()) if ns[one] else 0.0,
        )
        for one in np.argsort(-ns, kind="stable")[:MOST].tolist()
    )
