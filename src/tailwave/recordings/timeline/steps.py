"""Which step each piece of GPU work belongs to, and when each step was complete.

A kernel belongs to the step whose host code launched it, never to the step in whose time window
it ran: the host runs ahead of the GPU, and a time window misplaces up to 40% of the work. A step
is complete when its host code has ended and its last GPU work has finished; a step lasts from one
completion to the next, so the steps of a recording tile it without gap or overlap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
import numpy as np

from tailwave.model import Flags, HostKind, Ints, StepsSummary, Timeline
from tailwave.recordings.timeline.intervals import overlap, union
from tailwave.recordings.timeline.launches import LONGEST_LATENCY_NS, issued_in_order
from tailwave.recordings.timeline.migrations import migrations

PROFILER_STEP = re.compile(r"ProfilerStep#?\s*\d+$")
_GRAPH_LAUNCH = re.compile(r"(cuda|cu|hip)GraphLaunch")
_NUMBER = re.compile(r"\d+")
# An annotation stands for the step when at least this share of the GPU work is launched in it.
_ANNOTATION_COVER = 0.5
# One annotation alone is the step when at least this share is.
_ALONE_COVER = 0.9
# Two periods of a kernel sequence count as equal when this share of their names agree: throughout,
# and in the first or the last period, where the layers of one model do not.
_PERIOD_MATCH = 0.95
_LONGEST_PERIOD_TRIES = 64
# Periods are of the usual length when they are within this factor of the median.
_USUAL = 2.0
# A pause stands out among the others above this percentile of them.
_STANDS_OUT = 90
# From so many times on, something repeats.
_REPEATS = 2
# Annotations may overlap by the recorder's rounding (ns).
_ROUNDING_NS = 1_000
_WHOLE_TRACE = "whole trace"
# The first recorded GPU work was queued behind work that is not recorded when it began so much (ns)
# after its launch: the first launch of a recording takes up to 200 us.
_LEAD_IN_NS = 1_000_000
# In place of a step: work launched before the first step, and after the last.
BEFORE = -1
AFTER = -2


class Steps(msgspec.Struct, frozen=True):
    """The steps of one timeline on one device.

    ``host_start`` and ``host_end`` bound the host code of each step, ``complete_from`` and
    ``complete_to`` its time from completion to completion (all ns). ``gpu_step`` gives each GPU
    row its step, or BEFORE the first or AFTER the last, by its launch.
    """

    by: str
    names: tuple[str, ...]
    host_start: Ints
    host_end: Ints
    complete_from: Ints
    complete_to: Ints
    gpu_step: Ints

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self.host_start)

    @property
    def duration(self) -> Ints:
        """Each step's time, completion to completion (ns)."""
        return self.complete_to - self.complete_from


class _Bounds(msgspec.Struct, frozen=True):
    """The host code of each step (ns), and the evidence for it."""

    by: str
    names: tuple[str, ...]
    start: Ints
    end: Ints


def find_steps(timeline: Timeline, device: int | None = None) -> Steps:
    """Divide a timeline into steps by the best evidence that it holds.

    In this order: ``ProfilerStep#n`` annotations, an annotation that repeats, the period of the
    kernel sequence, one annotation around nearly all of it, the whole recording from its first
    launch to the end of its last GPU work. ``device`` limits the GPU work that decides when a step
    is complete; None takes every device.
    """
    bounds = (
        _by_profiler_step(timeline)
        or _by_annotation(timeline, _REPEATS, _ANNOTATION_COVER)
        or _by_kernel_period(timeline, device)
        or _by_annotation(timeline, 1, _ALONE_COVER)
        or _whole(timeline, device)
    )
    return _complete(timeline, _clipped(timeline, bounds), device)


def summarise(
    timeline: Timeline, steps: Steps, device: int | None = None, replayed: int | None = None
) -> StepsSummary:
    """Give the figures that describe the steps: how many, how long, how busy the GPU (us)."""
    length = steps.duration / 1e3
    p90, p99 = np.percentile(length, (90, 99))
    return StepsSummary(
        count=len(steps),
        by=steps.by,
        mean_us=float(length.mean()),
        median_us=float(np.median(length)),
        p90_us=float(p90),
        p99_us=float(p99),
        max_us=float(length.max()),
        gpu_busy_us=float(gpu_busy(timeline, steps, device).mean()) / 1e3,
        replayed=len(steps) if replayed is None else replayed,
    )


def gpu_busy(timeline: Timeline, steps: Steps, device: int | None = None) -> Ints:
    """Time in which anything ran on the GPU while each step lasted (ns)."""
    gpu = timeline.gpu
    rows = np.flatnonzero(_on(timeline, device))
    busy = union(gpu.start[rows], gpu.end[rows])
    return overlap(*busy, steps.complete_from, steps.complete_to)


def _on(timeline: Timeline, device: int | None) -> Flags:
    """Tell which GPU rows ran on a device; on any, for None."""
    on_it = timeline.gpu.device == device
    return np.ones(len(timeline.gpu), dtype=bool) if device is None else np.asarray(on_it)


def _by_profiler_step(timeline: Timeline) -> _Bounds | None:
    wanted = np.array([bool(PROFILER_STEP.match(name)) for name in timeline.names], dtype=bool)
    return _bounds(timeline, wanted, "ProfilerStep")


def _by_annotation(timeline: Timeline, times: int, least: float) -> _Bounds | None:
    """Take the annotation that covers the most launches ("step", "iter 7", ...).

    It occurs at least so many times, and covers at least this share of the launches.
    """
    host = timeline.host
    rows = np.flatnonzero(host.kind == HostKind.ANNOTATION)
    families: dict[str, list[int]] = {}
    for code in np.unique(host.name[rows]):
        families.setdefault(_NUMBER.sub("#", timeline.names[code]), []).append(int(code))
    launched = timeline.gpu.launch[timeline.gpu.launch >= 0]
    issued = np.sort(host.start[launched])
    best: tuple[float, int, _Bounds] | None = None
    for family, codes in families.items():
        wanted = np.zeros(len(timeline.names), dtype=bool)
        wanted[codes] = True
        found = _bounds(timeline, wanted, f"annotation {family}")
        if found is None or len(found.start) < times:
            continue
        low, high = np.searchsorted(issued, found.start), np.searchsorted(issued, found.end)
        cover = float((high - low).sum()) / max(len(issued), 1)
        candidate = (cover, -len(found.start), found)
        if cover >= least and (best is None or candidate[:2] > best[:2]):
            best = candidate
    return None if best is None else best[2]


def _bounds(timeline: Timeline, wanted: np.ndarray, by: str) -> _Bounds | None:
    """Host bounds of the annotations whose names are wanted; None if none, or if they nest."""
    host = timeline.host
    if not wanted.any():
        return None
    rows = np.flatnonzero((host.kind == HostKind.ANNOTATION) & wanted[host.name])
    if len(rows) == 0:
        return None
    threads, counts = np.unique(host.thread[rows], return_counts=True)
    rows = rows[host.thread[rows] == threads[np.argmax(counts)]]
    start, end = host.start[rows], host.end[rows]
    if (end[:-1] > start[1:] + _ROUNDING_NS).any():
        return None
    names = tuple(timeline.names[code] for code in host.name[rows])
    # What the host does between two annotations (the input pipeline, say) belongs to the first.
    return _Bounds(by, names, start, np.append(start[1:], end[-1]))


def _by_kernel_period(timeline: Timeline, device: int | None) -> _Bounds | None:
    """Find the shortest even period of the kernel sequence, in order of launch."""
    gpu, host = timeline.gpu, timeline.host
    rows = np.flatnonzero((gpu.launch >= 0) & _on(timeline, device))
    rows = rows[np.lexsort((gpu.start[rows], host.start[gpu.launch[rows]]))]
    launch = gpu.launch[rows]
    # A launch of a graph that was recorded as a whole may be all that a step is.
    shortest = 1 if _are_graphs(timeline, launch) else _REPEATS
    issue = host.start[launch]
    for period in kernel_periods(gpu.name[rows], shortest):
        period = _of_the_model(issue, period)  # noqa: PLW2901 - the same thing, seen whole
        start, end = _periods(issue, int(host.end[launch[-1]]), period)
        if len(start) >= _REPEATS and (np.diff(start) > 0).all() and _is_even(end - start):
            names = tuple(f"period {i}" for i in range(len(start)))
            return _Bounds("kernel period", names, start, end)
    return None


def _of_the_model(issue: Ints, period: int) -> int:
    """Return the period of the whole model, where equal layers make a shorter one.

    Between two steps the host pauses longer than between two layers, at even distances.
    """
    repeats = len(issue) // period
    bounds = np.arange(1, repeats) * period
    pause = issue[bounds] - issue[bounds - 1]
    for layers in range(2, repeats // 2 + 1):
        at_step = np.arange(1, repeats) % layers == 0
        inside, between = pause[~at_step], pause[at_step]
        if np.median(between) > inside.max() and between.min() >= np.percentile(
            inside, _STANDS_OUT
        ):
            return period * layers
    return period


def _are_graphs(timeline: Timeline, launch: Ints) -> bool:
    called = np.unique(timeline.host.name[launch])
    return all(_GRAPH_LAUNCH.match(timeline.names[code]) for code in called)


def _periods(issue: Ints, last: int, period: int) -> tuple[Ints, Ints]:
    """Host bounds of the whole periods of a launch sequence, which was over at ``last``."""
    phase = _phase(issue, period)
    start = issue[phase::period]
    # The sequence is cut after its last whole period; what follows is the beginning of another.
    if len(start) * period + phase > len(issue):
        return start[:-1], start[1:]
    return start, np.append(start[1:], last)


def _is_even(length: Ints) -> bool:
    """Tell whether most periods are of the usual length, and hold most of the time but for one.

    Kernels may repeat without being steps: requests of any length, with pauses of any length.
    """
    usual = float(np.median(length))
    even = (length <= _USUAL * usual) & (length * _USUAL >= usual)
    explained = usual * (len(length) - 1)
    return bool(2 * even.sum() > len(even) and 2 * explained >= length.sum() - length.max())


def kernel_periods(codes: np.ndarray, shortest: int = _REPEATS) -> Iterator[int]:
    """Yield the periods of a sequence of kernel names, from ``shortest`` on, the shortest first.

    The candidates are the distances between occurrences of the rarest repeated names, for a
    step's rare kernels (loss, optimiser) occur once in it.
    """
    names, counts = np.unique(codes, return_counts=True)
    repeated = names[counts >= _REPEATS]
    rarest = repeated[np.argsort(counts[counts >= _REPEATS], kind="stable")][:8]
    candidates = {int(d) for name in rarest for d in np.diff(np.flatnonzero(codes == name))}
    for period in sorted(candidates)[:_LONGEST_PERIOD_TRIES]:
        if shortest <= period <= len(codes) // 2:
            agree = codes[:-period] == codes[period:]
            # A prologue or a last step that was cut spoils one end, equal layers of a model both.
            ends = max(agree[:period].mean(), agree[-period:].mean())
            if min(agree.mean(), ends) >= _PERIOD_MATCH:
                yield period


def _phase(issue: Ints, period: int) -> int:
    """Begin the steps where the host pauses longest before a launch: between two steps."""
    pause = np.diff(issue, prepend=issue[0])
    cycles = len(issue) // period
    typical = np.median(pause[: cycles * period].reshape(cycles, period), axis=0)
    typical[0] = np.median(pause[period::period]) if cycles > 1 else typical[0]
    return int(np.argmax(typical))


def _whole(timeline: Timeline, device: int | None) -> _Bounds:
    """Take all from the first call that has GPU work to the end of the last GPU work as a step."""
    gpu = timeline.gpu
    mine = np.flatnonzero(_on(timeline, device))
    launch = gpu.launch[mine]
    calls = timeline.host.start[launch[launch >= 0]]
    if len(mine) == 0:
        low = high = int(timeline.host.start.min(initial=0))
    else:
        began, high = int(gpu.start[mine[0]]), int(gpu.end[mine].max())
        low = int(calls.min(initial=began))
        # A first call that takes longer than to launch its work starts something up.
        low = began if began - low > LONGEST_LATENCY_NS else low
    return _Bounds(_WHOLE_TRACE, ("trace",), np.array([low]), np.array([high]))


def _clipped(timeline: Timeline, bounds: _Bounds) -> _Bounds:
    """Cut steps to what was recorded: calls and GPU work, not the marks themselves."""
    host, gpu = timeline.host, timeline.gpu
    calls = host.kind != HostKind.ANNOTATION
    ends = [int(column.max()) for column in (host.end[calls], gpu.end) if len(column)]
    starts = [int(column.min()) for column in (host.start[calls], gpu.start) if len(column)]
    if not ends:
        return bounds
    first, last = min(starts), max(ends)
    start, end = np.minimum(bounds.start, last), np.minimum(bounds.end, last)
    # A step may begin long before its first call, but not by more than all that was recorded.
    start = np.where(first - start > last - first, first, start)
    return msgspec.structs.replace(bounds, start=start, end=end)


def _complete(timeline: Timeline, bounds: _Bounds, device: int | None) -> Steps:
    gpu, host_start, host_end = timeline.gpu, bounds.start, bounds.end
    gpu_step, own = _step_of(timeline, bounds), _on(timeline, device) & ~migrations(timeline)
    completion = host_end.copy()
    rows = own & (gpu_step >= 0)
    np.maximum.at(completion, gpu_step[rows], gpu.end[rows])
    completion = np.maximum.accumulate(completion)
    opened = _opened(timeline, own, gpu_step, int(host_start[0]))
    return Steps(
        by=bounds.by,
        names=bounds.names,
        host_start=host_start,
        host_end=host_end,
        complete_from=np.concatenate([[min(opened, int(completion[0]))], completion[:-1]]),
        complete_to=completion,
        gpu_step=gpu_step,
    )


def begun_at(timeline: Timeline, steps: Steps, moment: int) -> Steps:
    """Let a single step begin at a moment (ns) within it; what was launched before is not in it."""
    earlier = (issued_in_order(timeline) < moment) & (steps.gpu_step == 0)
    began = np.array([min(moment, int(steps.complete_to[0]))])
    return msgspec.structs.replace(
        steps,
        host_start=np.minimum(began, steps.host_end),
        complete_from=began,
        gpu_step=np.where(earlier, BEFORE, steps.gpu_step),
    )


def _opened(timeline: Timeline, own: Flags, gpu_step: Ints, begin: int) -> int:
    """When the first step begins for the GPU: when the work before it is done.

    That may not be recorded: then the first work of the step was queued behind it, and the step
    begins with that work.
    """
    gpu, host = timeline.gpu, timeline.host
    before = gpu.end[own & (gpu_step == BEFORE)]
    if len(before):
        return int(before.max())
    mine = np.flatnonzero(own & (gpu_step >= 0))
    if len(mine) == 0:
        return begin
    first = int(mine[0])
    launch = int(gpu.launch[first])
    arrived = begin if launch < 0 else int(host.end[launch])
    queued = int(gpu.start[first]) - max(arrived, begin) > _LEAD_IN_NS
    return int(gpu.start[first]) if queued and launch >= 0 else begin


def _step_of(timeline: Timeline, bounds: _Bounds) -> Ints:
    """Give each GPU row the step in which it was issued."""
    if bounds.by == _WHOLE_TRACE:
        return np.zeros(len(timeline.gpu), dtype=np.int64)
    issued = issued_in_order(timeline)
    step = np.searchsorted(bounds.start, issued, side="right") - 1
    return np.where(issued >= bounds.end[-1], AFTER, step).astype(np.int64)
