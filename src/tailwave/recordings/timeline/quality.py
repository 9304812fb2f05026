"""Whether a recording can be trusted, looked at before anything is concluded from it.

Recorders drop events when their buffers fill, stop in mid-step, and number clocks apart. Each
doubt becomes a note; a doubt that would make a verdict wrong withholds it.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import Flags, GpuTable, HostKind, Ints, Timeline
from tailwave.recordings.timeline.calls import Call, classify_all
from tailwave.recordings.timeline.migrations import launched
from tailwave.recordings.timeline.steps import AFTER, BEFORE, Steps

# Shares of the events above which a doubt is worth a note, or withholds the verdict. A profile
# that starts or stops in mid-flight always misses a few.
_NOTE_SHARE = 0.01
_WITHHOLD_SHARE = 0.25
_CAPTURE = ("StreamBeginCapture", "StreamEndCapture")
# Events on one stream may overlap by the recorder's rounding (ns).
_ROUNDING_NS = 1_000
# A first or last step with this much less GPU work than the usual one was cut by the recorder.
_CUT_SHARE = 0.8
_UNEVEN = 1.5
_CUT_NEEDS_STEPS = 3


class Quality(msgspec.Struct, frozen=True):
    """Doubts about a timeline.

    ``host_is_sound`` is False when idle GPU time cannot be blamed on the host, ``gpu_is_sound``
    when GPU time itself cannot be trusted.
    """

    notes: tuple[str, ...]
    host_is_sound: bool
    gpu_is_sound: bool


def without_absurd(timeline: Timeline) -> Timeline:
    """Leave out GPU rows that last longer than the whole recording; say so in the notes."""
    gpu = timeline.gpu
    window = timeline.recorded_to - timeline.recorded_from
    if window <= 0 or len(gpu) == 0:
        return timeline
    absurd = (gpu.end - gpu.start) > window
    if not absurd.any():
        return timeline
    note = (
        f"{_count(absurd, 'GPU event')} left out: longer than the whole recording "
        f"({window / 1e6:.0f} ms)."
    )
    return msgspec.structs.replace(
        timeline, gpu=keep_gpu(gpu, ~absurd), notes=(*timeline.notes, note)
    )


def keep_gpu(gpu: GpuTable, keep: Flags | Ints) -> GpuTable:
    """Select rows of a GPU table."""
    return GpuTable(**{name: getattr(gpu, name)[keep] for name in gpu.__struct_fields__})


def assess(timeline: Timeline) -> Quality:
    """Look for what would make a verdict wrong."""
    timeline, _ = launched(timeline)
    notes: list[str] = []
    missing_gpu = _launches_without_work(timeline, notes)
    missing_launch = _work_without_launch(timeline, notes)
    _zero_length(timeline, notes)
    overlapping = _overlapping(timeline, notes)
    skewed = _before_launch(timeline, notes)
    return Quality(
        notes=tuple(notes),
        host_is_sound=max(missing_launch, missing_gpu, skewed) <= _WITHHOLD_SHARE,
        gpu_is_sound=overlapping <= _WITHHOLD_SHARE and missing_gpu <= _WITHHOLD_SHARE,
    )


def _launches_without_work(timeline: Timeline, notes: list[str]) -> float:
    host, gpu = timeline.host, timeline.gpu
    calls = classify_all(timeline.names)
    runtime = (host.kind == HostKind.RUNTIME) & (host.correlation >= 0)
    launches = np.flatnonzero(runtime & (calls[host.name] == Call.LAUNCH))
    launches = launches[~_captured(timeline, launches)]
    if len(launches) == 0:
        return 0.0
    missing = ~np.isin(launches, gpu.launch)
    share = float(missing.mean())
    if share > _NOTE_SHARE:
        notes.append(
            f"{_count(missing, 'launch', 'es')} of {len(launches)} have no GPU event: the recorder "
            "dropped events, or was stopped before the GPU was done. Idle time near them is "
            "doubtful."
        )
    return share


def _captured(timeline: Timeline, launches: Ints) -> Flags:
    """Tell which launches only went into a graph that their thread was capturing."""
    host = timeline.host
    opens, closes = (
        np.flatnonzero(np.array([end in name for name in timeline.names], dtype=bool)[host.name])
        for end in _CAPTURE
    )
    captured = np.zeros(len(launches), dtype=bool)
    for thread in np.unique(host.thread[opens]).tolist():
        mine = host.thread[launches] == thread
        begun, ended = (
            np.searchsorted(calls[host.thread[calls] == thread], launches[mine])
            for calls in (opens, closes)
        )
        captured[mine] = begun > ended
    return captured


def _work_without_launch(timeline: Timeline, notes: list[str]) -> float:
    """GPU work whose launch is missing, leaving out what was launched before the recording."""
    gpu = timeline.gpu
    if len(gpu) == 0:
        return 0.0
    missing = gpu.launch < 0
    known = np.flatnonzero(~missing)
    if len(known) == 0:
        notes.append(
            "No GPU event has a recorded launch (recorded without CPU activity?): who caused the "
            "idle time cannot be said."
        )
        return 1.0
    # What ran before the first known launch was queued before the recording began.
    inner = missing & (np.arange(len(gpu)) > known[0])
    share = float(inner.mean())
    if share > _NOTE_SHARE:
        notes.append(
            f"{_count(inner, 'GPU event')} of {len(gpu)} have no recorded launch; idle time before "
            "them is called unknown."
        )
    return share


def _zero_length(timeline: Timeline, notes: list[str]) -> None:
    gpu = timeline.gpu
    empty = gpu.end <= gpu.start
    if len(gpu) and float(empty.mean()) > _NOTE_SHARE:
        notes.append(f"{_count(empty, 'GPU event')} of {len(gpu)} last 0 ns (rounded down).")


def _overlapping(timeline: Timeline, notes: list[str]) -> float:
    """Share of GPU rows that begin before the row before them in their stream has ended."""
    gpu = timeline.gpu
    if len(gpu) == 0:
        return 0.0
    order = np.lexsort((gpu.start, gpu.stream, gpu.device))
    same = (np.diff(gpu.stream[order]) == 0) & (np.diff(gpu.device[order]) == 0)
    over = same & (gpu.start[order][1:] < gpu.end[order][:-1] - _ROUNDING_NS)
    length = (gpu.end - gpu.start)[order]
    # Kernels with programmatic dependent launch begin while the one before them drains.
    deep = over & (gpu.end[order][:-1] - gpu.start[order][1:] > 0.5 * length[1:])
    share = float(deep.sum()) / len(gpu)
    if share > _NOTE_SHARE:
        notes.append(
            f"{_count(deep, 'GPU event')} of {len(gpu)} overlap the one before them in their "
            "stream by more than half: their times are doubtful."
        )
    return share


def _before_launch(timeline: Timeline, notes: list[str]) -> float:
    gpu, host = timeline.gpu, timeline.host
    known = gpu.launch >= 0
    if not known.any():
        return 0.0
    early = gpu.start[known] < host.start[gpu.launch[known]] - _ROUNDING_NS
    share = float(early.mean())
    if share > _NOTE_SHARE:
        notes.append(
            f"{_count(early, 'GPU event')} of {len(gpu)} start before the call that launched them: "
            "the clocks of host and GPU disagree."
        )
    return share


def whole_steps(steps: Steps) -> tuple[Steps, tuple[str, ...]]:
    """Leave out a first or last step that the recorder cut; say so, and if steps are uneven."""
    notes: list[str] = []
    work = np.bincount(steps.gpu_step[steps.gpu_step >= 0], minlength=len(steps))
    first, last = 0, len(steps)
    if len(steps) >= _CUT_NEEDS_STEPS:
        usual = float(np.median(work))
        first += bool(work[0] < _CUT_SHARE * usual)
        last -= bool(work[-1] < _CUT_SHARE * usual)
    if (first, last) != (0, len(steps)):
        notes.append(
            f"{len(steps) - (last - first)} of {len(steps)} steps left out: the recording begins "
            "or ends within them."
        )
        steps = _slice(steps, first, last)
    length = steps.duration[steps.duration > 0]
    if len(length) > 1 and length.max() > _UNEVEN * length.min():
        notes.append(
            f"The steps are uneven: {length.min() / 1e3:.0f} to {length.max() / 1e3:.0f} us. The "
            "figures are those of the median step."
        )
    return steps, tuple(notes)


def _slice(steps: Steps, first: int, last: int) -> Steps:
    gpu_step = steps.gpu_step - first
    gpu_step[steps.gpu_step < first] = BEFORE
    gpu_step[(steps.gpu_step >= last) | (steps.gpu_step == AFTER)] = AFTER
    return Steps(
        by=steps.by,
        names=steps.names[first:last],
        host_start=steps.host_start[first:last],
        host_end=steps.host_end[first:last],
        complete_from=steps.complete_from[first:last],
        complete_to=steps.complete_to[first:last],
        gpu_step=gpu_step,
    )


def _count(flags: Flags, noun: str, plural: str = "s") -> str:
    number = int(flags.sum())
    return f"{number} {noun}{plural if number != 1 else ''}"
