"""The likely time of host-bound programs against what was measured without the profiler.

A program counts once, however often it was recorded. docs/replay.md has every figure.
"""

from __future__ import annotations

import functools

import numpy as np

from benchmarks.estimate_accuracy import (
    ALLOWED,
    HOST_BOUND,
    NEAR,
    SETS,
    Judged,
    Known,
    judged,
    middle,
    recordings,
)
from tailwave.recordings.replay.overhead import REAL

SHIPPED = ("traces", "recordings", "repeats")


@functools.cache
def _found() -> list[Known]:
    sets = {host: SETS[host] for host in SHIPPED}
    return [known for known in recordings(sets) if known.busy < HOST_BOUND]


@functools.cache
def _judged() -> Judged:
    return judged(_found(), [known.estimate(REAL) for known in _found()])


def test_the_likely_time_errs_to_neither_side() -> None:
    """Within 6% in the median, with its sign."""
    likely, measured, weight = _judged().estimates[:, 0], _judged().measured, _judged().weight
    assert abs(middle(likely / measured - 1, weight)) <= 0.06


def test_the_likely_time_is_near() -> None:
    """At most 16% off in the median; eight programs of ten within 35%."""
    off = np.abs(_judged().estimates[:, 0] / _judged().measured - 1)
    assert middle(off, _judged().weight) <= 0.16
    assert np.average(off <= NEAR, weights=_judged().weight) >= 0.8


def test_the_range_holds_most_measured_times() -> None:
    """Six truths of seven are in a range of 0.55 to 1.5 times the likely time, 2% allowed."""
    (likely, least, most), weight = _judged().estimates.T, _judged().weight
    measured = _judged().measured
    inside = (least <= ALLOWED * measured) & (measured <= ALLOWED * most)
    assert np.average(inside, weights=weight) >= 0.85
    assert middle(least / likely, weight) >= 0.545
    assert middle(most / likely, weight) <= 1.505
