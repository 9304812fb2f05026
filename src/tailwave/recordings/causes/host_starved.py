"""Nothing on the host was issuing work: the input pipeline, preprocessing, a sleep.

What it means:
    The GPU idles because the host is busy with something else, or with nothing: it reads and
    decodes the next batch, computes on the CPU, waits for a lock or a socket. A faster GPU, fewer
    launches or a CUDA graph change nothing here.

How it is found:
    The issuing thread is in no operator and no runtime call for at least half a millisecond and
    ten times its usual pause between calls, or for a whole millisecond, or it is in an operator
    of 0.1 ms or more that issues nothing, or within the framework's data loader. That lost time
    is charged to the idle gaps that follow. Shorter pauses are the interpreter's own and belong
    to launch-bound.

What cures it:
    prefetch: DataLoader(num_workers=..., pin_memory=True, prefetch_factor=...), preparing the
    next batch while the GPU runs this one. gpu-preprocessing: move the work to the GPU.

What fools it:
    A recording without Python stacks shows a pause but not what filled it: record with
    with_stack=True to see it. A pause of Python code that does issue work (a slow training loop)
    is called starvation when it is long.
"""

from __future__ import annotations

import numpy as np

from tailwave.figures import time
from tailwave.model import Evidence, Finding, HostKind, Ints
from tailwave.recordings.causes.build import finding, gain, heaviest, place_of, share_saved, times
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.replay.host_changes import fed
from tailwave.recordings.timeline.attribution import Cause
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.hostwork import LOADER_ANNOTATION, Activity
from tailwave.recordings.timeline.steps import PROFILER_STEP

CODE = "host-starved"

# A frame explains a pause when it covers all of it but this share at either end.
_FRAME_MARGIN = 0.1
# Frames are looked up for so many of a step's stretches, the longest: each is a search.
_MOST_NAMED = 200


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Compare the step with the same step when the host never stops to issue."""
    lost = case.cause_us(Cause.STARVED)
    if lost <= 0:
        return None
    after = forecast.after(fed).step_us
    found = _starved(case)
    claim = (
        f"The GPU idles {share_saved(forecast, after)} of each step because the host issues "
        f"nothing ({_what(found)}); fed in time, {gain(forecast, after)}."
    )
    return finding(
        forecast,
        code=CODE,
        title="The host does something else while the GPU has nothing to do",
        claim=claim,
        after_us=after,
        evidence=[
            Evidence("GPU idle while the host issued nothing", lost, "us"),
            *_pauses(case, found),
        ],
        cures=("prefetch", "gpu-preprocessing"),
    )


def _starved(case: Case) -> list[tuple[str, float, int]]:
    """Label, length (us) and host row of the starved stretches of the step, longest first."""
    low, high = case.steps.host_start[case.step], case.steps.host_end[case.step]
    found: list[tuple[int, int, int, bool]] = []
    for work in case.attribution.work:
        mine = (work.activity == Activity.STARVED) & (work.start >= low) & (work.start < high)
        columns = (column[mine].tolist() for column in (work.start, work.end, work.row, work.pause))
        found += zip(*columns, strict=True)
    found.sort(key=lambda stretch: stretch[0] - stretch[1])
    loaders = _loaders(case)
    labelled: list[tuple[str, float, int]] = []
    for rank, (start, end, row, pause) in enumerate(found):
        frame = _frame_over(case, start, end, row) if rank < _MOST_NAMED else ""
        name = case.name_of_host(row)
        label = frame or (f"a pause after {name}" if pause else name)
        loader = _loader_around(case, loaders, start, end)
        if loader and loader != label:
            label = f"{label} in {loader}"
        labelled.append((label, (end - start) / 1e3, row))
    return labelled


def _loaders(case: Case) -> Ints:
    """Rows of the data loader's own marks."""
    host, names = case.timeline.host, case.timeline.names
    wanted = np.array([name.startswith(LOADER_ANNOTATION) for name in names], dtype=bool)
    return np.flatnonzero((host.kind != HostKind.RUNTIME) & wanted[host.name])


def _loader_around(case: Case, loaders: Ints, start: int, end: int) -> str:
    """The data loader's mark around a span; empty where it is not the loader's."""
    host = case.timeline.host
    around = loaders[(host.start[loaders] <= start) & (host.end[loaders] >= end)]
    return case.name_of_host(int(around[-1])) if len(around) else ""


def _what(found: list[tuple[str, float, int]]) -> str:
    if not found:
        return "see the evidence"
    totals = heaviest((label for label, _, _ in found), (us for _, us, _ in found), most=1)
    label, us, _ = totals[0]
    return f"{label}, {time(us)}"


def _pauses(case: Case, found: list[tuple[str, float, int]]) -> list[Evidence]:
    totals = heaviest((label for label, _, _ in found), (us for _, us, _ in found))
    evidence = [Evidence(f"host in {label}, {times(n)}", us, "us") for label, us, n in totals]
    frames = {place_of(case, row) for _, _, row in found[:3]} - {""}
    return evidence + [Evidence(f"last call before it from {frame}") for frame in sorted(frames)]


def _frame_over(case: Case, start: int, end: int, near: int) -> str:
    """The innermost frame or annotation of a thread over most of a span; empty if none."""
    host = case.timeline.host
    margin = int(_FRAME_MARGIN * (end - start))
    last = int(np.searchsorted(host.start, start + margin, side="right"))
    rows = np.flatnonzero(
        (host.thread[:last] == host.thread[near])
        & (host.end[:last] >= end - margin)
        & (host.kind[:last] != HostKind.RUNTIME)
    )
    for row in rows[::-1]:
        name = case.name_of_host(int(row))
        if not PROFILER_STEP.match(name):
            return name
    return ""
