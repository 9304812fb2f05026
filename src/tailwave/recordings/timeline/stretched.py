"""Which pieces of host work took far longer than the same piece does elsewhere.

A piece is a call, an operator's own time, or the pause between two of them. What is long at the
same place of many steps is long by nature: an input pipeline stalls at one place of a step, a
contended lock or core at any.
"""

from __future__ import annotations

import numpy as np

from tailwave.model import Flags, HostKind, Ints, Timeline

# A piece is stretched when it takes this much longer (ns) and this many times as long as usual.
STRETCHED_NS = 200_000
_TIMES = 10.0
# What is long at its place in one of so many steps, two at least, is long by nature.
_STEPS = 4
# An input pipeline stalls at this many places of a step at most, a contended lock at more, and at
# this share of the kinds of places at least.
_PLACES = 4
_KINDS = 0.5


def runs_python(timeline: Timeline) -> bool:
    """Tell whether an interpreter, whose lock threads contend for, is in the recording.

    nsys records any program; the other recorders are a framework's own.
    """
    if timeline.kind != "nsys" or bool((timeline.host.kind == HostKind.PYTHON).any()):
        return True
    threads = any("python" in thread.name.lower() for thread in timeline.threads)
    return threads or any(name.startswith("aten::") for name in timeline.names)


def is_stretched(piece: Ints, start: Ints, length: Ints, step_start: Ints) -> Flags:
    """Tell which pieces take far longer than usual.

    ``piece`` says by any numbers what is the same work, ``step_start`` are the moments (ns, sorted)
    at which steps begin.
    """
    # Only of what is ever long the usual time matters.
    some = np.flatnonzero(np.isin(piece, piece[length > STRETCHED_NS]))
    piece, length = np.unique(piece[some], return_inverse=True)[1], length[some]
    usual = lower_quartile(piece, length)
    if len(step_start) > 1:
        usual = np.maximum(usual, _usual_at_place(piece, start[some], length, step_start))
    stretched = np.zeros(len(start), dtype=bool)
    stretched[some] = length > np.maximum(usual + STRETCHED_NS, _TIMES * usual)
    return stretched


def at_every_place(kind: Ints, long: Flags, length: Ints, steps: int) -> bool:
    """Tell whether long pauses are so many, and so uneven, that no one place of a step has them.

    ``kind`` says of each pause by any number between which two calls it was.
    """
    if long.sum() <= _PLACES * steps:
        return False
    kinds = len(np.unique(kind[long])) / len(np.unique(kind))
    uneven = np.percentile(length[long], 90) > _TIMES * np.percentile(length, 10)
    return bool(kinds >= _KINDS and uneven)


def lower_quartile(group: Ints, length: Ints) -> Ints:
    """Lower quartile of the lengths within each group (numbered from 0), for every member."""
    order = np.lexsort((length, group))
    first = np.searchsorted(group[order], np.arange(int(group.max(initial=-1)) + 1))
    count = np.diff(np.append(first, len(order)))
    return np.asarray(length[order[first + count // 4]][group], dtype=np.int64)


def _usual_at_place(piece: Ints, start: Ints, length: Ints, step_start: Ints) -> Ints:
    """What the n-th of each piece in a step reaches in a quarter of the steps, two at least."""
    step = np.searchsorted(step_start, start, side="right")
    order = np.lexsort((start, step, piece))
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (np.diff(piece[order]) != 0) | (np.diff(step[order]) != 0)
    begin = np.maximum.accumulate(np.where(fresh, np.arange(len(order)), 0))
    ordinal = np.empty(len(order), dtype=np.int64)
    ordinal[order] = np.arange(len(order)) - begin
    # Number the places densely: each piece has as many as it occurs in the fullest step.
    most = np.zeros(int(piece.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(most, piece, ordinal + 1)
    place = (np.cumsum(most) - most)[piece] + ordinal
    seen = np.bincount(place)
    longest_first = np.lexsort((-length, place))
    first = np.cumsum(seen) - seen
    rank = np.maximum((seen + _STEPS - 1) // _STEPS - 1, 1)
    reached = length[longest_first[np.minimum(first + rank, len(length) - 1)]]
    # A place that only one step reached has nothing to be compared with.
    return np.where(seen[place] > 1, reached[place], 0)
