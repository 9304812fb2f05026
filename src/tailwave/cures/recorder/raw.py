"""The raw records of one process: a report, and the buffers that CUPTI filled, as they were."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec
import numpy as np

from tailwave.cures.recorder.layouts import layout
from tailwave.errors import UnreadableInputError

Records = np.ndarray[tuple[int], np.dtype[np.void]]


class ProcessReport(msgspec.Struct, frozen=True):
    """What a process wrote beside its records.

    ``blocks`` are the buffers' bytes in the file, ``sizes`` a record's bytes by kind. ``texts``
    holds the strings by pointer, ``calls`` the calls' names by "domain:number". ``steps`` are the
    program's own marks: the time (ns, on the records' clock), and the thread.
    """

    pid: int = 0
    argv: tuple[str, ...] = ()
    rank: str = ""
    world_size: str = ""
    cupti: int = 0
    records: str = ""
    blocks: tuple[int, ...] = ()
    sizes: dict[int, int] = msgspec.field(default_factory=dict)
    texts: dict[int, str] = msgspec.field(default_factory=dict)
    calls: dict[str, str] = msgspec.field(default_factory=dict)
    threads: dict[str, str] = msgspec.field(default_factory=dict)
    gpus: tuple[dict[str, int | str], ...] = ()
    steps: tuple[tuple[int, int], ...] = ()
    since: int = 0
    until: int = 0
    dropped: int = 0
    complete: bool = False
    error: str = ""


def read_report(path: Path) -> ProcessReport:
    """Read a process's report; raises UnreadableInputError for one that is damaged."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=ProcessReport, strict=False)
    except (OSError, msgspec.DecodeError) as error:
        raise UnreadableInputError(
            f"{path} is no report of a recorded process: {error}."
        ) from error


def read_records(report: ProcessReport) -> tuple[dict[int, Records], int]:
    """Read a process's records by kind, and how many bytes of them could not be told apart.

    Of a process that was killed, what it wrote after its last report is read too.
    """
    try:
        data = Path(report.records).read_bytes() if report.records else b""
    except FileNotFoundError:
        data = b""
    except OSError as error:
        raise UnreadableInputError(f"cannot read {report.records}: {error.strerror}.") from error
    places, lost = _places(data, report.sizes)
    found: dict[int, Records] = {}
    for kind, starts in places.items():
        form = layout(kind, report.sizes[kind])
        if form is not None:
            found[kind] = _gathered(data, starts, form)
    return found, lost


def _places(data: bytes, sizes: dict[int, int]) -> tuple[dict[int, list[int]], int]:
    """Return where the records of each kind begin."""
    words = memoryview(data[: len(data) & ~7]).cast("I")
    places: dict[int, list[int]] = {kind: [] for kind in sizes}
    at, end = 0, len(words)
    while at < end:
        kind = words[at]
        size = sizes.get(kind, 0) >> 2
        if size == 0 or at + size > end:
            break
        places[kind].append(at * 4)
        at += size
    return places, len(data) - at * 4


def _gathered(data: bytes, starts: Iterable[int], form: np.dtype[np.void]) -> Records:
    """Copy records that lie apart into one array."""
    raw = np.frombuffer(data, dtype=np.uint8)
    at = np.fromiter(starts, dtype=np.int64)
    picked = raw[at[:, np.newaxis] + np.arange(form.itemsize)]
    records: Records = picked.reshape(-1).view(form)
    return records
