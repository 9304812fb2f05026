"""The host's calls of the runtime in a step, side by side."""

from __future__ import annotations

import re

import msgspec
import numpy as np

from tailwave.model import ComparedWork, HostKind
from tailwave.recordings.timeline.case import Case

# CUDA's runtime, its driver and HIP call alike but for this.
_PREFIX = re.compile(r"^(cuda|cu|hip)(?=[A-Z])")


class _Calls(msgspec.Struct, frozen=True):
    """Calls of one name: how many a step, and how long they take in it (us)."""

    name: str = ""
    count: float = 0.0
    us: float = 0.0


def compare_calls(old: Case, new: Case) -> tuple[ComparedWork, ...]:
    """Put the calls of two recordings side by side, what changed most first."""
    ours, theirs = _calls(old), _calls(new)
    found = [(ours.get(key, _Calls()), theirs.get(key, _Calls())) for key in {**ours, **theirs}]
    rows = (
        ComparedWork(one.name, other.name, one.count, other.count, one.us, other.us)
        for one, other in found
    )
    return tuple(sorted(rows, key=lambda row: -abs(row.change_us)))


def _calls(case: Case) -> dict[str, _Calls]:
    """Count the calls of the steps, by their name without the runtime's prefix."""
    host, rows = case.timeline.host, case.host_rows()
    rows = rows[host.kind[rows] == HostKind.RUNTIME]
    names, code = np.unique(host.name[rows], return_inverse=True)
    took = np.bincount(code, weights=(host.end - host.start)[rows], minlength=len(names))
    found: dict[str, _Calls] = {}
    for name, count, ns in zip(names, np.bincount(code, minlength=len(names)), took, strict=True):
        spelled = case.timeline.names[name]
        key = _PREFIX.sub("", spelled)
        before = found.get(key, _Calls())
        found[key] = _Calls(
            spelled, before.count + float(count) / len(case.steps), before.us + case.a_step(ns)
        )
    return found
