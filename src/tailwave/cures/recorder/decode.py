"""From what a recorded process left to its Timeline."""

from __future__ import annotations

import numpy as np

from tailwave.cures.recorder.codes import Texts
from tailwave.cures.recorder.raw import ProcessReport, read_records
from tailwave.cures.recorder.tables import gpu_columns, host_columns, timed, wait_columns
from tailwave.model import DeviceInfo, Ints, Thread, Timeline
from tailwave.recordings import (
    Rows,
    gpu_in_order,
    gpu_table,
    host_table,
    launches,
    taken,
    wait_table,
)


def decode(report: ProcessReport) -> Timeline:
    """Make a process's Timeline; raises UnreadableInputError when its records cannot be read.

    What had to be left out is said in the timeline's notes.
    """
    found, lost = read_records(report)
    codes = Texts(report.texts)
    gpu, host = gpu_columns(found, codes), host_columns(found, report, codes)
    waits = wait_columns(found, gpu, codes)
    unfinished = int((~timed(gpu)).sum())
    gpu, host, waits = (taken(columns, timed(columns)) for columns in (gpu, host, waits))
    ids, host["thread"] = _numbered(host["thread"])
    hosts, work = host_table(host), gpu_in_order(gpu)
    return Timeline(
        names=codes.names,
        threads=tuple(Thread(str(report.pid), str(i), report.threads.get(str(i), "")) for i in ids),
        devices=tuple(_device(properties) for properties in report.gpus),
        host=hosts,
        gpu=gpu_table(work, launches(work["correlation"], hosts)),
        waits=wait_table(waits),
        kind="record",
        path="",
        rank=_number(report.rank, 0),
        world_size=_number(report.world_size, 1),
        events=sum(len(records) for records in found.values()),
        recorded_from=report.since,
        recorded_to=report.until,
        notes=tuple(_notes(report, unfinished, lost, gpu)),
    )


def _numbered(threads: Ints) -> tuple[list[int], Ints]:
    """Number the threads from 0; return their ids by number, and the numbers."""
    ids, numbers = np.unique(threads, return_inverse=True)
    return ids.tolist(), numbers.astype(np.int64)


def _device(properties: dict[str, int | str]) -> DeviceInfo:
    name = str(properties.get("name", ""))
    fields = DeviceInfo.__struct_fields__
    numbers = {k: v for k, v in properties.items() if k in fields and isinstance(v, int)}
    return DeviceInfo(name=name, **{"index": 0, **numbers})


def _number(text: str, otherwise: int) -> int:
    return int(text) if text.isdecimal() else otherwise


def _notes(report: ProcessReport, unfinished: int, lost: int, gpu: Rows) -> list[str]:
    notes = []
    if not report.complete:
        notes.append("The program was killed: what it did last is not in the recording.")
    if unfinished:
        rows = f"{unfinished} piece{'s' if unfinished > 1 else ''} of GPU work"
        notes.append(f"{rows} left out: not finished when the recording ended.")
    if report.dropped:
        notes.append(f"CUPTI dropped {report.dropped} records for want of memory.")
    if lost:
        notes.append(f"The last {lost} bytes of the recording could not be read.")
    if report.error:
        notes.append(f"The recording is not whole: {report.error}.")
    if not len(gpu["start"]):
        notes.append("Nothing of what the process did reached a GPU.")
    return notes
