"""The difference of two mean steps, divided by cause.

A step is the sum of its shares (``replay/division``), so the difference of two steps is the sum of
the shares' differences. Some of those are divided further, each so that its parts sum to it:

- kernels: those that both recordings have, those that were added, those that were removed. What the
  kernels ran longer, and the share did not grow by, is overlap: of streams, or with what else is
  counted first.
- waiting for launches: as the number of launches changed, each at what it costs on the side that
  has more; and for those that both have as the time changed that the host takes to issue one. The
  rest was hidden before behind the GPU's work, or is now.
- copies, in the same way: bytes, and time per byte.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from tailwave.figures import in_one_unit, quantity
from tailwave.model import DifferencePart
from tailwave.recordings.comparison.matching import Matching
from tailwave.recordings.comparison.work import Class, Work
from tailwave.recordings.replay.division import LABELS, Cause, Division

# The GPU work that the division counts as kernels.
_KERNELS = (Class.KERNEL, Class.MEMORY)
# Where all kernels got slower or faster alike, the clock did: where the middle half of them, by
# time, lies within 1% of its median, and the median further than that from no change. In twelve
# pairs of recordings of one program on one H200 the middle halves lie within 0.8%, and on 96 SMs
# instead of 132 within 7%.
_ALIKE = 0.01
# A kernel shorter than this (us) is mostly its own beginning and end, which no clock changes alike.
_LONG_US = 5.0
# Of one kernel or two it cannot be said that all changed alike; nor of a small part of the time.
_LEAST_KERNELS = 5
_LEAST_TIME = 0.5
# Sums of binary fractions leave as much (us) of what is nothing.
_DUST_US = 1e-6
# The parts that are a share's difference, and nothing more.
_WHOLE = {
    Cause.COLLECTIVE: "collectives",
    Cause.RANKS: "waiting for another rank",
    Cause.MIGRATION: "moving pages of managed memory",
    Cause.SYNC: "waits for the GPU",
    Cause.BLOCKED_COPY: "copies that hold the host",
    Cause.STARVED: "host work that launches nothing",
    Cause.CONTENTION: "stretched host work",
    Cause.STARTUP: "start-up",
    Cause.LATENCY: "switching between kernels",
    Cause.GRAPH: "holes inside graph launches",
    Cause.QUEUED: "launched work that did not begin",
    Cause.UNKNOWN: "idle, launch not recorded",
}


class Side(msgspec.Struct, frozen=True):
    """One recording: what a step consists of, and where its time goes."""

    work: Work
    division: Division


class _Amount(msgspec.Struct, frozen=True):
    """So many of something in a step, and what they take (us) in all.

    ``shown_us`` is what they take of the step's time: the rest passes while the GPU is at other
    work.
    """

    count: float
    us: float
    shown_us: float

    @property
    def each(self) -> float:
        """What one takes (us)."""
        return self.us / self.count if self.count else 0.0


def divide_difference(
    old: Side, new: Side, matching: Matching, *, same_gpu: bool
) -> tuple[DifferencePart, ...]:
    """Divide the difference of two mean steps by cause, what does most first."""
    found = [
        *_kernels(old, new, matching, same_gpu=same_gpu),
        *_launches(old, new, matching),
        *_copies(old, new),
        *(
            _part(LABELS[cause][0], label, new.division.us(cause) - old.division.us(cause))
            for cause, label in _WHOLE.items()
        ),
    ]
    counted = [part for part in found if abs(part.us) > _DUST_US]
    return tuple(sorted(counted, key=lambda part: -abs(part.us)))


def _kernels(
    old: Side, new: Side, matching: Matching, *, same_gpu: bool
) -> Iterator[DifferencePart]:
    were = matching.before(np.where(old.work.are(*_KERNELS), old.work.us, 0.0))
    are = matching.after(np.where(new.work.are(*_KERNELS), new.work.us, 0.0))
    both = matching.both
    before, after = float(were[both].sum()), float(are[both].sum())
    factor = clock(old.work, new.work, matching) if same_gpu else 1.0
    by_clock = (factor - 1) * before
    lower = "lower clock" if factor > 1 else "higher clock"
    yield _part("clock", lower, by_clock, f"all kernels x{factor:.3g}")
    yield _part("kernels", "kernels", after - before - by_clock, _change(before, after))
    removed, added = float(were[~both].sum()), float(are[~both].sum())
    left, come = matching.before(old.work.calls), matching.after(new.work.calls)
    calls = f"{_count(left[~both & (were > 0)].sum())} a step"
    yield _part("kernels-removed", "kernels removed", -removed, calls)
    calls = f"{_count(come[~both & (are > 0)].sum())} a step"
    yield _part("kernels-added", "kernels added", added, calls)
    hidden = before + removed - old.division.us(Cause.KERNEL)
    is_hidden = after + added - new.division.us(Cause.KERNEL)
    beside = _change(hidden, is_hidden)
    yield _part("overlap", "kernels beside other work", hidden - is_hidden, beside)


def clock(old: Work, new: Work, matching: Matching) -> float:
    """Return by how much all kernels take longer alike; 1 where they do not change alike."""
    was = matching.before(old.us) / np.maximum(matching.before(old.calls), _DUST_US)
    now = matching.after(new.us) / np.maximum(matching.after(new.calls), _DUST_US)
    same = np.zeros(len(was), dtype=bool)
    for pair in np.flatnonzero(matching.both & (was >= _LONG_US)):
        kernel = old.kernels[matching.old[pair]]
        same[pair] = kernel.kind == Class.KERNEL and kernel == new.kernels[matching.new[pair]]
    weight = matching.before(old.us)[same]
    whole = old.us[old.are(Class.KERNEL)].sum()
    if len(weight) < _LEAST_KERNELS or weight.sum() < _LEAST_TIME * whole:
        return 1.0
    ratio = now[same] / was[same]
    order = np.argsort(ratio)
    below = np.cumsum(weight[order]) / weight.sum()
    low, middle, high = ratio[order][np.searchsorted(below, (0.25, 0.5, 0.75))]
    alike = high - low <= 2 * _ALIKE * middle
    return float(middle) if alike and abs(middle - 1) > _ALIKE else 1.0


def _launches(old: Side, new: Side, matching: Matching) -> Iterator[DifferencePart]:
    both = matching.both
    waited, waits = matching.before(old.work.waited_us), matching.after(new.work.waited_us)
    gone, more = float(waited[~both].sum()), float(waits[~both].sum())
    # Idle time that no work of the step ended counts for the launches that both have.
    before = _Amount(
        float(matching.before(old.work.launches)[both].sum()),
        float(matching.before(old.work.issuing_us)[both].sum()),
        old.division.us(Cause.LAUNCH) - gone,
    )
    after = _Amount(
        float(matching.after(new.work.launches)[both].sum()),
        float(matching.after(new.work.issuing_us)[both].sum()),
        new.division.us(Cause.LAUNCH) - more,
    )
    by_count, by_each, hidden = _split(before, after)
    counts = (_count(side.work.launches.sum()) for side in (old, new))
    graphs = ", in graphs" if new.work.graphs and not old.work.graphs else ""
    times = f"{' -> '.join(counts)} a step{graphs}"
    yield _part("launches", "launches", by_count + more - gone, times)
    yield _part("host-per-launch", "host per launch", by_each, _change(before.each, after.each))
    yield _part("host-hidden", "host work hidden by the GPU's", hidden)


def _copies(old: Side, new: Side) -> Iterator[DifferencePart]:
    before, after = (
        _Amount(
            float(side.work.bytes[side.work.are(Class.COPY)].sum()),
            float(side.work.us[side.work.are(Class.COPY)].sum()),
            side.division.us(Cause.COPY),
        )
        for side in (old, new)
    )
    by_count, by_each, hidden = _split(before, after)
    sizes = " -> ".join(quantity(amount.count, "B") for amount in (before, after))
    rates = " -> ".join(f"{1e-3 / one.each:.3g} GB/s" for one in (before, after) if one.each)
    yield _part("copied-bytes", "bytes copied", by_count, sizes)
    yield _part("copy-speed", "speed of copies", by_each, rates)
    yield _part("copies-hidden", "copies hidden by kernels", hidden)


def _split(old: _Amount, new: _Amount) -> tuple[float, float, float]:
    """Divide a change of the shown time: by the count, by what one takes, by what is hidden.

    Those that one side has more cost what they do there. For the others counts what one takes, as
    far as it explains the rest of the change: what it does not was hidden, or no longer is.
    """
    more, fewer = (old, new) if old.count > new.count else (new, old)
    by_count = (new.count - old.count) * more.shown_us / more.count if more.count else 0.0
    rest = new.shown_us - old.shown_us - by_count
    by_each = fewer.count * (new.each - old.each)
    by_each = min(max(by_each, min(rest, 0.0)), max(rest, 0.0))
    return by_count, by_each, rest - by_each


def _part(what: str, label: str, us: float, detail: str = "") -> DifferencePart:
    return DifferencePart(what, label, us, detail)


def _change(before: float, after: float) -> str:
    # Dust is 0.
    return " -> ".join(in_one_unit(*(round(us, 3) + 0.0 for us in (before, after))))


def _count(value: float) -> str:
    return quantity(round(value, 1), "count")
