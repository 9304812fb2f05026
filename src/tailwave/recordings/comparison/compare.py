"""From the recordings of two runs to their comparison."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from tailwave.errors import UnreadableInputError, UsageError
from tailwave.model import (
    ComparedRecording,
    ComparedShare,
    ComparedWork,
    MatchedKernels,
    RecordingComparison,
    Share,
    Source,
    Timeline,
)
from tailwave.recordings.causes.diagnose import prepare_ranks, shares
from tailwave.recordings.comparison.calls import compare_calls
from tailwave.recordings.comparison.matching import Matching, match, readable
from tailwave.recordings.comparison.parts import Side, divide_difference
from tailwave.recordings.comparison.work import Work, work_of
from tailwave.recordings.replay.forecast import forecast
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.steps import summarise
from tailwave.stats import mean_interval

# Recordings are of the same work when the kernels that match by name are so many of the geometric
# mean of both counts; or, on two kinds of GPUs, those that match by name or operator. Of 40 pairs
# of one program the least are 0.37 (eager against compiled) and, by operator, 0.99 (two vendors).
# Of 630 pairs of different programs, but for those that the next bound tells apart or that consist
# of the same kernels, the most are 0.29 and 0.89.
_NAMED, _IN_OPERATORS = 1 / 3, 0.9
# Kernels of one name run as many threads when they do the same work, to within so much.
_SAME_SIZE = 1.1
# Where the host is the bound, recorded steps of one program on one machine differ by so much in one
# of four repeats, and by 13% in the median (11 programs of benchmarks/results/repeats).
_REPEATS = 0.3
_GPU_BOUND = 0.9  # of the step
_UNSOUND = "its GPU work was not recorded soundly, so its kernels may not be all or not as long."


class _Run(msgspec.Struct, frozen=True):
    """One side: the recording that stands for the run, and all that was found of it."""

    path: str
    case: Case
    side: Side
    shares: tuple[Share, ...]
    recording: ComparedRecording
    notes: tuple[str, ...]


def compare_timelines(
    before: Sequence[Timeline], before_path: str, after: Sequence[Timeline], after_path: str
) -> RecordingComparison:
    """Divide the difference of two recordings' steps by cause; of several ranks the slowest counts.

    The paths are the inputs as the user named them. Raises UnreadableInputError where a recording
    has no steps to compare, UsageError where the two are of different work.
    """
    old, new = _run(before, before_path), _run(after, after_path)
    same_gpu = old.recording.device.words == new.recording.device.words
    matching = match(old.side.work, new.side.work)
    _refuse_different_work(old, new, matching, same_gpu=same_gpu)
    parts = divide_difference(old.side, new.side, matching, same_gpu=same_gpu)
    low, high = _interval(old.case, new.case)
    return RecordingComparison(
        before=old.recording,
        after=new.recording,
        difference_us=new.case.step_us - old.case.step_us,
        low_us=low,
        high_us=high,
        parts=parts,
        shares=_compare_shares(old.shares, new.shares),
        matched=MatchedKernels(
            *matching.of, by_name=matching.named, by_operator=matching.alike - matching.named
        ),
        kernels=_compare_kernels(old.side.work, new.side.work, matching),
        calls=compare_calls(old.case, new.case),
        notes=(*_doubts(old, new), *old.notes, *new.notes),
    )


def _run(timelines: Sequence[Timeline], path: str) -> _Run:
    """Choose the slowest rank that has GPU work in steps."""
    ranks = [
        (prepared, timeline)
        for prepared, timeline in zip(prepare_ranks(timelines), timelines, strict=True)
        if prepared and prepared.case.step_us > 0
    ]
    if not ranks:
        raise UnreadableInputError(
            f"{path} has no steps with GPU work to compare: see tailwave diagnose {path}."
        )
    prepared, timeline = max(ranks, key=lambda rank: rank[0].case.step_us)
    case = prepared.case
    likely = forecast(case)
    several = (
        (f"Of its {len(timelines)} ranks the slowest is compared, rank {timeline.rank}.",)
        if len(timelines) > 1
        else ()
    )
    unsound = () if prepared.quality.gpu_is_sound else (_UNSOUND,)
    said = (*several, *unsound, *timeline.notes, *prepared.notes)
    return _Run(
        path=path,
        case=case,
        side=Side(work_of(case, likely.division), likely.division),
        shares=shares(case, likely.division),
        recording=ComparedRecording(
            source=Source(
                path,
                timeline.kind,
                sum(one.events for one in timelines),
                tuple(one.rank for one in timelines),
            ),
            rank=timeline.rank,
            device=case.device,
            steps=summarise(case.timeline, case.steps, case.device.index),
            now=likely.now,
        ),
        notes=tuple(f"{path}: {note}" for note in said),
    )


def _interval(old: Case, new: Case) -> tuple[float | None, float | None]:
    """Return within what the difference of the mean steps lies (us), as far as steps scatter."""
    if min(len(old.steps), len(new.steps)) < 2:  # noqa: PLR2004  (one has no scatter)
        return None, None
    before, after = (
        mean_interval((case.steps.duration / 1e3).tolist(), 0.95) for case in (old, new)
    )
    half = math.hypot(before.high - before.mean, after.high - after.mean)
    return after.mean - before.mean - half, after.mean - before.mean + half


def _refuse_different_work(old: _Run, new: _Run, matching: Matching, *, same_gpu: bool) -> None:
    """Raise UsageError unless enough kernels of the two are one another's, and of one size."""
    usual = math.sqrt(math.prod(matching.of)) or max(matching.of)
    by_operator = not same_gpu and matching.alike >= _IN_OPERATORS * usual
    if matching.named < _NAMED * usual and not by_operator:
        matched = matching.named if same_gpu else matching.alike
        raise UsageError(
            f"{old.path} and {new.path} are of different work: of the {matching.of[0]:,} and "
            f"{matching.of[1]:,} kernels of their steps only {matched:,} match. Compare two "
            "recordings of one program."
        )
    size = max(matching.threads, 1 / matching.threads)
    if size > _SAME_SIZE and _runtime(old.case) == _runtime(new.case):
        raise UsageError(
            f"{old.path} and {new.path} are of work of different sizes: kernels of the same name "
            f"run {matching.threads:.3g} times as many threads in the second. Compare two "
            "recordings with the same input."
        )


def _runtime(case: Case) -> bool:
    """Tell HIP, for which libraries are compiled with other numbers of threads, from CUDA."""
    return any(name.startswith("hip") for name in case.timeline.names)


def _compare_shares(old: Iterable[Share], new: Iterable[Share]) -> tuple[ComparedShare, ...]:
    labels = {share.what: share.label for share in (*new, *old)}
    before, after = ({share.what: share.us for share in found} for found in (old, new))
    rows = [
        ComparedShare(what, label, before.get(what, 0.0), after.get(what, 0.0))
        for what, label in labels.items()
    ]
    return tuple(sorted(rows, key=lambda row: -max(row.before_us, row.after_us)))


def _compare_kernels(old: Work, new: Work, matching: Matching) -> tuple[ComparedWork, ...]:
    """Sum the pairs up by readable names."""
    ours, theirs = ([*map(readable, work.kernels), ""] for work in (old, new))
    columns = (
        matching.before(old.calls),
        matching.after(new.calls),
        matching.before(old.us),
        matching.after(new.us),
    )
    found: defaultdict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0] * len(columns))
    for one, other, *figures in zip(matching.old, matching.new, *columns, strict=True):
        sums = found[ours[one], theirs[other]]
        sums[:] = [float(so_far + figure) for so_far, figure in zip(sums, figures, strict=True)]
    rows = (ComparedWork(*names, *sums) for names, sums in found.items())
    return tuple(sorted(rows, key=lambda row: -abs(row.change_us)))


def _doubts(old: _Run, new: _Run) -> Iterator[str]:
    """Say what the difference may be besides what it seems to be."""
    before, after = old.recording.source.kind, new.recording.source.kind
    if before != after:
        yield (
            f"The recorders differ ({before} and {after}): what they cost the host is part of the "
            "difference."
        )
    apart = abs(new.case.step_us - old.case.step_us)
    busy = min(one.recording.steps.gpu_busy_us / one.case.step_us for one in (old, new))
    if busy < _GPU_BOUND and 0 < apart < _REPEATS * old.case.step_us:
        yield (
            "Recorded again, a program of which the host is the bound differs by 13% in the median, "
            "by 30% in one of four: record each once more before believing a difference of less."
        )
