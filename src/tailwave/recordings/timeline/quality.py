"""Whether a recording can be trusted, looked at before anything is concluded from it.

Recorders drop events when their buffers fill, stop in mid-step, and number clocks apart. Each doubt
becomes a note; a doubt about more than a quarter of what a verdict rests on withholds it.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.figures import percent, time
from tailwave.model import Flags, HostKind, Ints, Timeline
from tailwave.recordings.timeline.calls import Call, classify_all, is_graph_launch
from tailwave.recordings.timeline.mending import counted
from tailwave.recordings.timeline.migrations import migrations
from tailwave.recordings.timeline.steps import AFTER, BEFORE, Steps

# Shares above which a doubt is worth a note, or withholds the verdict. A profile that starts or
# stops in mid-flight always misses a little.
_NOTE_SHARE = 0.01
_WITHHOLD_SHARE = 0.25
_CAPTURE = ("StreamBeginCapture", "StreamEndCapture")
# Events on one stream may overlap by the recorder's rounding (ns).
_ROUNDING_NS = 1_000
# A first or last step with this much less GPU work than the usual one was cut by the recorder.
_CUT_SHARE = 0.8
_CUT_NEEDS_STEPS = 3
# Launches of one graph whose recorded nodes differ by more than this have lost some.
_NODES_MATCH = 0.9


class Quality(msgspec.Struct, frozen=True):
    """Doubts about a timeline.

    ``host_is_sound`` is False when idle GPU time cannot be blamed on the host, ``gpu_is_sound``
    when GPU time itself cannot be trusted.
    """

    notes: tuple[str, ...]
    host_is_sound: bool
    gpu_is_sound: bool


def assess(timeline: Timeline, steps: Steps) -> Quality:
    """Look for what would make a verdict on the steps wrong."""
    notes: list[str] = []
    missing_gpu = _launches_without_work(timeline, steps, notes)
    missing_launch = _work_without_launch(timeline, steps, notes)
    _zero_length(timeline, notes)
    _lost_nodes(timeline, steps, notes)
    overlapping = _overlapping(timeline, notes)
    skewed = _before_launch(timeline, notes)
    return Quality(
        notes=tuple(notes),
        host_is_sound=max(missing_launch, missing_gpu, skewed) <= _WITHHOLD_SHARE,
        gpu_is_sound=overlapping <= _WITHHOLD_SHARE and missing_gpu <= _WITHHOLD_SHARE,
    )


def _launches_without_work(timeline: Timeline, steps: Steps, notes: list[str]) -> float:
    """Share of the launches whose work is not recorded.

    What was launched last had perhaps not run yet when the recorder stopped: such launches are
    none, unless the host waited for the GPU after them.
    """
    host, gpu = timeline.host, timeline.gpu
    calls = classify_all(timeline.names)
    runtime = (host.kind == HostKind.RUNTIME) & (host.correlation >= 0)
    launches = np.flatnonzero(runtime & (calls[host.name] == Call.LAUNCH))
    captured = _captured(timeline, launches)
    if captured.any() and captured.mean() > 1 - _WITHHOLD_SHARE:
        notes.append(
            f"This is a recording of a graph's capture: {counted(captured, 'launch', 'es')} of "
            f"{len(launches)} went into the graph and ran nothing."
        )
    launches = launches[~captured]
    waited = np.flatnonzero(runtime & (calls[host.name] == Call.WAIT))
    last = max(int(gpu.launch.max(initial=-1)), int(waited.max(initial=-1)))
    inside = (host.start[launches] >= steps.host_start[0]) & (launches <= last)
    launches = launches[inside]
    if len(launches) == 0:
        return 0.0
    missing = ~np.isin(launches, gpu.launch)
    share = float(missing.mean())
    if share > _NOTE_SHARE:
        notes.append(
            f"{counted(missing, 'launch', 'es')} of {len(launches)} have no GPU event: the "
            "recorder dropped events. Idle time near them is doubtful."
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


def _work_without_launch(timeline: Timeline, steps: Steps, notes: list[str]) -> float:
    """Share of the steps' GPU time whose launch is not recorded.

    Not what was launched before the recording, nor pages that move without any call.
    """
    gpu = timeline.gpu
    counts = (steps.gpu_step >= 0) & ~migrations(timeline)
    known = np.flatnonzero((gpu.launch >= 0) & counts)
    if not counts.any():
        return 0.0
    if len(known) == 0:
        notes.append(
            "No GPU event has a recorded launch (recorded without CPU activity?): who caused the "
            "idle time cannot be said."
        )
        return 1.0
    # What ran before the first known launch was queued before the recording began.
    inner = counts & (gpu.launch < 0) & (np.arange(len(gpu)) > known[0])
    length = np.maximum(gpu.end - gpu.start, 1)
    share = float(length[inner].sum() / length[counts].sum())
    if share > _NOTE_SHARE:
        notes.append(
            f"{counted(inner, 'GPU event')} have no recorded launch, {percent(share)} of the GPU's "
            "time; idle time before them is called unknown."
        )
    return share


def _zero_length(timeline: Timeline, notes: list[str]) -> None:
    gpu = timeline.gpu
    empty = gpu.end <= gpu.start
    if len(gpu) and float(empty.mean()) > _NOTE_SHARE:
        notes.append(f"{counted(empty, 'GPU event')} of {len(gpu)} last 0 ns (rounded down).")


def _lost_nodes(timeline: Timeline, steps: Steps, notes: list[str]) -> None:
    """Compare the nodes of graph launches that begin with the same kernel."""
    gpu, host = timeline.gpu, timeline.host
    graphs = np.array([is_graph_launch(name) for name in timeline.names], dtype=bool)
    rows = np.flatnonzero(gpu.launch >= 0)
    rows = rows[graphs[host.name[gpu.launch[rows]]]]
    if len(rows) == 0:
        return
    first, nodes = np.unique(gpu.launch[rows], return_index=True, return_counts=True)[1:]
    begins = gpu.name[rows[first]]
    in_steps = steps.gpu_step[rows[first]] >= 0
    most = np.zeros(len(timeline.names), dtype=np.int64)
    np.maximum.at(most, begins, nodes)
    short = in_steps & (nodes < _NODES_MATCH * most[begins])
    if short.any():
        notes.append(
            f"{counted(short, 'graph launch', 'es')} of {int(in_steps.sum())} have "
            f"{int(np.median(nodes[short]))} recorded nodes where others have "
            f"{int(most[begins[short]].max())}: the recorder lost some, and holes in them are not "
            "idle time."
        )


def _overlapping(timeline: Timeline, notes: list[str]) -> float:
    """Share of the GPU's time in which rows of one stream overlap by more than half."""
    gpu = timeline.gpu
    if len(gpu) == 0:
        return 0.0
    order = np.lexsort((gpu.start, gpu.stream, gpu.device))
    same = (np.diff(gpu.stream[order]) == 0) & (np.diff(gpu.device[order]) == 0)
    same &= ~migrations(timeline)[order[:-1]]
    over = gpu.end[order][:-1] - gpu.start[order][1:]
    length = (gpu.end - gpu.start)[order]
    # Kernels with programmatic dependent launch begin while the one before them drains.
    deep = same & (over > _ROUNDING_NS) & (over > 0.5 * length[1:])
    share = float(over[deep].sum() / max(length.sum(), 1))
    if share > _NOTE_SHARE:
        notes.append(
            f"{counted(deep, 'GPU event')} overlap the one before them in their stream by more "
            f"than half, {time(over[deep].sum() / 1e3)} in all: their times are doubtful."
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
            f"{counted(early, 'GPU event')} of {len(gpu)} start before the call that launched "
            "them, by times that differ: the clocks of host and GPU disagree."
        )
    return share


def whole_steps(steps: Steps, is_work: Flags) -> tuple[Steps, tuple[str, ...]]:
    """Leave out a first or last step that the recorder cut, or that is empty; say so.

    ``is_work`` tells which GPU rows count.
    """
    work = np.bincount(steps.gpu_step[(steps.gpu_step >= 0) & is_work], minlength=len(steps))
    first, last = 0, len(steps)
    if work.any():
        usual = float(np.median(work[work > 0]))
        least = _CUT_SHARE * usual if len(steps) >= _CUT_NEEDS_STEPS else 1
        while last - first > 1 and (work[first] == 0 or (first == 0 and work[first] < least)):
            first += 1
        while last - first > 1 and (
            work[last - 1] == 0 or (last == len(steps) and work[last - 1] < least)
        ):
            last -= 1
    if (first, last) == (0, len(steps)):
        return steps, ()
    note = (
        f"{len(steps) - (last - first)} of {len(steps)} steps left out: the recording begins "
        "or ends within them, or they hold no GPU work."
    )
    return _slice(steps, first, last), (note,)


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
