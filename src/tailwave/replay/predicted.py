"""A run of a program as a Timeline again, so that whatever reads timelines reads predictions."""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import HostKind, HostTable, Ints, Timeline
from tailwave.replay.engine import Run
from tailwave.replay.program import Program
from tailwave.timeline.case import Case
from tailwave.timeline.quality import keep_gpu


def predicted_timeline(case: Case, program: Program, run: Run) -> Timeline:
    """Return the timeline that a run predicts: its launches, waits, steps and GPU work.

    Operators and Python frames are not simulated one by one and are left out.
    """
    recorded = case.timeline
    host, launch_of = _host(case, program, run)
    order = np.lexsort((run.end, run.start))
    gpu = recorded.gpu
    rows = program.row[order]
    launch = gpu.launch[rows]
    changed = {
        "start": run.start[order],
        "end": run.end[order],
        "launch": np.where(launch >= 0, launch_of[launch], -1) if len(recorded.host) else launch,
    }
    return msgspec.structs.replace(
        recorded,
        host=host,
        gpu=msgspec.structs.replace(keep_gpu(gpu, rows), **changed),
        names=(*recorded.names, *case.steps.names),
        recorded_from=int(min(run.action_start.min(), run.start.min(initial=run.action_start[0]))),
        recorded_to=int(max(run.action_end.max(), run.end.max(initial=0))),
        notes=("Predicted by tailwave; not a recording.",),
    )


def _host(case: Case, program: Program, run: Run) -> tuple[HostTable, Ints]:
    """Host rows of the run, and for each recorded host row its new number (-1 if left out)."""
    recorded = case.timeline.host
    calls = np.flatnonzero(program.host_row >= 0)
    rows = program.host_row[calls]
    marks = np.full(program.step_count + 1, 0, dtype=np.int64)
    marked = np.flatnonzero(program.mark >= 0)
    marks[program.mark[marked]] = run.action_start[marked]
    start = np.concatenate([run.action_start[calls], marks[:-1]])
    end = np.concatenate([run.action_end[calls], marks[1:]])
    steps = np.arange(program.step_count)
    name = np.concatenate([recorded.name[rows], len(case.timeline.names) + steps])
    kind = np.concatenate([recorded.kind[rows], np.full(len(steps), HostKind.ANNOTATION)])
    thread = recorded.thread[rows]
    thread = np.concatenate([thread, np.full(len(steps), thread[0] if len(thread) else 0)])
    correlation = np.concatenate([recorded.correlation[rows], np.full(len(steps), -1)])
    order = np.lexsort((-end, start))
    table = HostTable(
        start=start[order],
        end=end[order],
        name=name[order].astype(np.int32),
        kind=kind[order].astype(np.uint8),
        thread=thread[order].astype(np.int32),
        correlation=correlation[order],
    )
    renumbered = np.full(len(recorded), -1, dtype=np.int64)
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    renumbered[rows] = position[: len(rows)]
    return table, renumbered
