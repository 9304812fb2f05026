"""Which GPU rows share a stream, and what ran before each: for all streams at once."""

from __future__ import annotations

import numpy as np

from tailwave.model import Flags, Ints, SmallInts, Timeline


def numbered(*columns: Ints | SmallInts) -> Ints:
    """Number the different combinations of values that rows have, as they sort."""
    number = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, code = np.unique(column, return_inverse=True)
        number = np.unique(number * len(values) + code.ravel(), return_inverse=True)[1].ravel()
    return number


def stream_numbers(timeline: Timeline) -> Ints:
    """Number the streams of all devices; give each GPU row its stream's number."""
    return numbered(timeline.gpu.device, timeline.gpu.stream)


def begins_run(*columns: Ints) -> Flags:
    """Tell which rows differ from the row before them in any column."""
    begins = np.ones(len(columns[0]), dtype=bool)
    begins[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return begins


def reach_before(stream: Ints, end: Ints, never: int) -> Ints:
    """The latest end among the rows before each one in its stream; ``never`` where there is none.

    The rows are in the order in which the streams run them.
    """
    order = np.argsort(stream, kind="stable")
    ends = np.sort(end)
    # Streams side by side: a later one's ranks are all higher, so one running maximum does for all.
    rank = np.searchsorted(ends, end[order]) + stream[order] * len(end)
    before = np.maximum.accumulate(rank)[:-1] - stream[order][1:] * len(end)
    result = np.full(len(end), never, dtype=np.int64)
    result[order[1:]] = np.where(begins_run(stream[order])[1:], never, ends[np.maximum(before, 0)])
    return result


class Lines:
    """Rows on lines (streams, or threads), each in the order of their moments."""

    def __init__(self, line: Ints, moment: Ints) -> None:
        """Take the line and the moment of each row."""
        self._moments = np.sort(moment)
        self._order = np.lexsort((moment, line))
        self._key = self._keys(line[self._order], moment[self._order])
        self._line = line

    def first_after(self, line: Ints, at: Ints) -> Ints:
        """Return the first row of a line that comes after each moment; -1 for none."""
        return self._rows(line, np.searchsorted(self._key, self._keys(line, at), side="right"))

    def last_until(self, line: Ints, at: Ints) -> Ints:
        """Return the last row of a line that comes no later than each moment; -1 for none."""
        return self._rows(line, np.searchsorted(self._key, self._keys(line, at), side="right") - 1)

    def _keys(self, line: Ints, at: Ints) -> Ints:
        """Set the lines side by side: a number for each moment on one, that sorts as they do."""
        return line * (len(self._moments) + 1) + np.searchsorted(self._moments, at, side="right")

    def _rows(self, line: Ints, place: Ints) -> Ints:
        if len(self._order) == 0:
            return np.full(len(line), -1, dtype=np.int64)
        inside = (place >= 0) & (place < len(self._order))
        row = self._order[np.clip(place, 0, len(self._order) - 1)]
        return np.where(inside & (self._line[row] == line), row, -1)


def last_above(values: Ints, before: Ints, floor: Ints) -> Ints:
    """Return the last place before ``before`` at which a value exceeds ``floor``; -1 for none."""
    lowest = np.iinfo(np.int64).min
    levels = [values]  # each holds the greater of two neighbours of the one before
    while len(levels[-1]) > 1:
        even = np.append(levels[-1], lowest) if len(levels[-1]) % 2 else levels[-1]
        levels.append(np.maximum(even[::2], even[1::2]))
    place, level = before.copy(), np.zeros(len(before), dtype=np.int64)
    found = np.full(len(before), -1, dtype=np.int64)
    # Up: of an odd number of blocks look at the last, and take the others two by two.
    left = np.flatnonzero(place > 0)
    for height, block in enumerate(levels):
        last = np.maximum(place[left] - 1, 0)
        hit = (place[left] % 2 == 1) & (block[last] > floor[left])
        found[left[hit]], level[left[hit]] = last[hit], height
        place[left] //= 2
        left = left[~hit & (place[left] > 0)]
    # Down: of the two halves of a block that has one, the later one that does.
    for height in range(len(levels) - 1, 0, -1):
        inside = np.flatnonzero((found >= 0) & (level == height))
        later = np.minimum(found[inside] * 2 + 1, len(levels[height - 1]) - 1)
        higher = levels[height - 1][later] > floor[inside]
        found[inside] = np.where(higher, later, found[inside] * 2)
        level[inside] = height - 1
    return found
