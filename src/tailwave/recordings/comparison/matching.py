"""Which kernels of one recording are those of another, though their names may differ."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from tailwave.kernel_names import short
from tailwave.model import Flags, Floats, Ints
from tailwave.recordings.comparison.sequences import Keys, align
from tailwave.recordings.comparison.work import Class, Kernel, Work

_SHORT_NAME, _WHOLE_NAME = 64, 1_000  # letters
_NONE = -1  # in place of a kernel
# The levels of matching, from the surest on, that go by other things than names.
_BY_OPERATOR, _BY_PLACE = 3, 4


class Matching(msgspec.Struct, frozen=True):
    """The kernels of two recordings in pairs, and how well they agree.

    ``old`` and ``new`` are places among the kernels of both, -1 where the other has no counterpart;
    ``parts`` is how much of each side's kernel a pair is of. ``named`` counts the kernels of the
    two steps that have a counterpart of the same name in order, ``alike`` also those that have one
    in the same operator, and ``of`` all in both. ``threads`` is how many times as many threads the
    kernels of one name have in the new recording.
    """

    old: Ints
    new: Ints
    parts: tuple[Floats, Floats]
    named: int
    alike: int
    of: tuple[int, int]
    threads: float

    @property
    def both(self) -> Flags:
        """The pairs that have two sides."""
        return np.asarray((self.old != _NONE) & (self.new != _NONE))

    def before(self, figures: Floats) -> Floats:
        """Share out a figure of each of the old recording's kernels to the pairs."""
        return np.append(figures, 0.0)[self.old] * self.parts[0]

    def after(self, figures: Floats) -> Floats:
        """Share out a figure of each of the new recording's kernels to the pairs."""
        return np.append(figures, 0.0)[self.new] * self.parts[1]


def match(old: Work, new: Work) -> Matching:
    """Put the launches of two steps side by side, and so the kernels of all steps.

    In order, and the surest first: by name and shape, by name alone, by the name without what
    versions differ in, by the operator that launched them. What is left between two of those is
    paired one by one where both have as many.
    """
    found = list(align(_levels(old, new)))
    counts, others = (_are_kernels(work)[work.sequence] for work in (old, new))
    launched = [(int(old.sequence[one]), int(new.sequence[other])) for one, other, _ in found]
    pairs = np.array(list(_pairs(old, new, Counter(launched))), dtype=np.float64).reshape(-1, 4)
    return Matching(
        old=pairs[:, 0].astype(np.int64),
        new=pairs[:, 1].astype(np.int64),
        parts=(pairs[:, 2], pairs[:, 3]),
        named=sum(bool(counts[one]) for one, _, level in found if level < _BY_OPERATOR),
        alike=sum(bool(counts[one]) for one, _, level in found if level < _BY_PLACE),
        of=(int(counts.sum()), int(others.sum())),
        threads=_threads([(old.kernels[one], new.kernels[other]) for one, other in launched]),
    )


def readable(kernel: Kernel, longest: int = _SHORT_NAME) -> str:
    """Return a kernel's name as people read it; copies and memsets have one."""
    is_code = kernel.kind in (Class.KERNEL, Class.COLLECTIVE)
    return short(kernel.name, longest) if is_code else kernel.name


def _are_kernels(work: Work) -> Flags:
    """Tell kernels from memsets and copies, which are in every program."""
    return work.are(Class.KERNEL, Class.COLLECTIVE)


def _levels(old: Work, new: Work) -> list[Keys]:
    ours, theirs = ([work.kernels[code] for code in work.sequence] for work in (old, new))
    read = {kernel: readable(kernel, _WHOLE_NAME) for kernel in {*ours, *theirs}}
    operators = (
        [(name, k.kind) if name else None for name, k in zip(work.operators, kernels, strict=True)]
        for work, kernels in ((old, ours), (new, theirs))
    )
    return [
        _keys(ours, theirs),
        _keys([k.name for k in ours], [k.name for k in theirs]),
        _keys([read[k] for k in ours], [read[k] for k in theirs]),
        _keys(*operators),
        _keys([k.kind for k in ours], [k.kind for k in theirs]),
    ]


def _keys(old: Sequence[object], new: Sequence[object]) -> Keys:
    """Number what two sequences hold, alike in both; -1 for None."""
    numbers: defaultdict[object, int] = defaultdict(lambda: len(numbers))
    ours, theirs = (
        np.array([-1 if one is None else numbers[one] for one in items], dtype=np.int64)
        for items in (old, new)
    )
    return ours, theirs


def _pairs(
    old: Work, new: Work, launched: Counter[tuple[int, int]]
) -> Iterator[tuple[int, int, float, float]]:
    """Share out the kernels of all steps as the launches of one step were paired."""
    ours, theirs = (np.bincount(work.sequence, minlength=len(work.kernels)) for work in (old, new))
    left, remain = ours.copy(), theirs.copy()
    for (one, other), count in launched.items():
        yield one, other, count / ours[one], count / theirs[other]
        left[one] -= count
        remain[other] -= count
    rest, others = (
        np.divide(some, of, out=np.ones(len(of)), where=of > 0)
        for some, of in ((left, ours), (remain, theirs))
    )
    # What one of the two steps lacks, other steps of its recording may hold.
    places = {kernel: code for code, kernel in enumerate(new.kernels)}
    for one, kernel in enumerate(old.kernels):
        other = places.get(kernel, _NONE)
        if other != _NONE and not (ours[one] and theirs[other]):
            yield one, other, rest[one], others[other]
            rest[one] = others[other] = 0
    for one in np.flatnonzero(rest).tolist():
        yield one, _NONE, rest[one], 0.0
    for other in np.flatnonzero(others).tolist():
        yield _NONE, other, 0.0, others[other]


def _threads(pairs: Sequence[tuple[Kernel, Kernel]]) -> float:
    """Compare the threads of kernels of one name; 1 where no shape is known."""
    known = [
        (one.grid * one.block, other.grid * other.block)
        for one, other in pairs
        if one.name == other.name and one.kind == Class.KERNEL
        if min(one.grid, one.block, other.grid, other.block) > 0
    ]
    return sum(new for _, new in known) / sum(old for old, _ in known) if known else 1.0
