"""A run of a program as a Timeline again, so that whatever reads timelines reads predictions."""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import HostKind, HostTable, Ints, Thread, Timeline
from tailwave.recordings.replay.change import issuer, issues, waits
from tailwave.recordings.replay.engine import Run
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.replay.program import Program
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.mending import keep_gpu


def predicted_timeline(forecast: Forecast, program: Program, run: Run) -> Timeline:
    """Return the timeline that a run predicts: its launches, waits, steps and GPU work.

    Operators and Python frames are not simulated one by one and are left out.
    """
    case, recorded = forecast.case, forecast.case.timeline
    host, number = _host(case, program, run)
    order = np.lexsort((run.end, run.start))
    gpu = recorded.gpu
    rows = program.row[order]
    by = issuer(program)[order]
    launch = np.where(by >= 0, number[by], -1)
    changed = {
        "start": run.start[order],
        "end": run.end[order],
        "stream": _streams(recorded, program)[order],
        "launch": launch,
        "correlation": np.where(launch >= 0, host.correlation[launch], gpu.correlation[rows]),
    }
    return msgspec.structs.replace(
        recorded,
        # A recording of the GPU alone has no thread, but the predicted steps need one.
        threads=recorded.threads or (Thread(pid="0", tid="0", name="steps"),),
        host=host,
        gpu=msgspec.structs.replace(keep_gpu(gpu, rows), **changed),
        names=(*recorded.names, *(case.steps.names[step] for step in forecast.replayed)),
        recorded_from=int(min(run.action_start.min(), run.start.min(initial=run.action_start[0]))),
        recorded_to=int(max(run.action_end.max(), run.end.max(initial=0))),
        notes=("Predicted by tailwave; not a recording.",),
    )


def _streams(recorded: Timeline, program: Program) -> Ints:
    """Recorded stream of each row; a stream that a change has added gets a number of its own."""
    gpu = recorded.gpu
    had = len(np.unique(np.column_stack([gpu.device, gpu.stream]), axis=0))
    added = int(gpu.stream.max()) + 1 + program.stream - had
    return np.where(program.stream < had, gpu.stream[program.row], added)


def _host(case: Case, program: Program, run: Run) -> tuple[HostTable, Ints]:
    """Host rows of the run, and for each action the number of its row (-1 for none).

    Calls that a change has left without effect (launches that a graph has taken over) are gone.
    """
    recorded = case.timeline.host
    useful = issues(program) | waits(program) | (program.hold > 0)
    calls = np.flatnonzero((program.host_row >= 0) & useful)
    rows = program.host_row[calls]
    marks = np.zeros(program.step_count + 1, dtype=np.int64)
    marked = np.flatnonzero(program.mark >= 0)
    marks[program.mark[marked]] = run.action_start[marked]
    steps = np.arange(program.step_count)
    thread = recorded.thread[rows]
    start = np.concatenate([run.action_start[calls], marks[:-1]])
    end = np.concatenate([run.action_end[calls], marks[1:]])
    name = np.concatenate([recorded.name[rows], len(case.timeline.names) + steps])
    kind = np.concatenate([recorded.kind[rows], np.full(len(steps), HostKind.ANNOTATION)])
    # A step that consists of one call encloses it.
    order = np.lexsort((kind != HostKind.ANNOTATION, -end, start))
    threads = np.concatenate([thread, np.full(len(steps), thread[0] if len(thread) else 0)])
    correlation = np.concatenate([recorded.correlation[rows], np.full(len(steps), -1)])
    table = HostTable(
        start=start[order],
        end=end[order],
        name=name[order].astype(np.int32),
        kind=kind[order].astype(np.uint8),
        thread=threads[order].astype(np.int32),
        correlation=correlation[order],
    )
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    number = np.full(len(program.lane), -1, dtype=np.int64)
    number[calls] = position[: len(calls)]
    return table, number
