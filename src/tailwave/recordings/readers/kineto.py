"""Reads the traces of PyTorch's profiler (Kineto): ``.json`` and ``.json.gz``, since 2021."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tailwave.model import DeviceInfo, Timeline
from tailwave.recordings.readers.json_stream import BLOCK_BYTES
from tailwave.recordings.readers.reader import ByteProgress, Certainty
from tailwave.recordings.readers.trace_columns import Columns
from tailwave.recordings.readers.trace_events import BlockDecoder
from tailwave.recordings.readers.trace_timeline import Trace, collect, timeline_of

WHAT: str = "traces of PyTorch's profiler (.json, .json.gz)"
SUFFIXES: tuple[str, ...] = (".json", ".json.gz")
RUNS: str = ""
RECORD_GPU: str = (
    "Record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], and with no other "
    "profiler on the GPU."
)
# What only Kineto writes before the events, in all releases since 2021.
_OWN = (b'"schemaVersion"', b'"deviceProperties"', b'"traceName"')
# What `tailwave.profile` puts there of its own: the step as it was measured without the profiler.
_PLAIN = "tailwave"
_WANTED = ("deviceProperties", "distributedInfo", _PLAIN)
# A program whose plain steps before the recording and after it differ more has changed meanwhile.
_DRIFT = 1.05
_LONGEST_US = 1e12  # eleven days: no step takes longer
_DEVICE_FIELDS = {
    "sm_count": "numSms",
    "compute_major": "computeMajor",
    "compute_minor": "computeMinor",
    "warp_size": "warpSize",
    "max_threads_per_sm": "maxThreadsPerMultiprocessor",
    "registers_per_sm": "regsPerMultiprocessor",
    "shared_per_sm": "sharedMemPerMultiprocessor",
    "shared_per_block_optin": "sharedMemPerBlockOptin",
}


def claims(path: Path, head: bytes) -> Certainty:
    """Know a trace by what precedes its events; any other JSON may be one."""
    if any(key in head for key in _OWN):
        return Certainty.BY_CONTENT
    named = path.name.lower().endswith(SUFFIXES)
    return Certainty.BY_NAME if named else Certainty.NOT_MINE


def read_timelines(path: Path, progress: ByteProgress | None = None) -> list[Timeline]:
    """Read one trace: the recording of one rank; as ``read_trace``."""
    return [read_trace(path, progress)]


def read_trace(
    path: Path, progress: ByteProgress | None = None, *, block_bytes: int = BLOCK_BYTES
) -> Timeline:
    """Read one trace.

    ``progress`` is called with the bytes read of the file and its size. What had to be left out is
    said in the timeline's notes. Raises UnreadableInputError when the file holds no trace.
    """
    trace = _collect(path, progress, block_bytes, flows=False)
    # GPU work without the correlation that links it to its launch is linked by arrows.
    if any((rows["correlation"] < 0).any() for rows in trace.columns.gpu):
        trace = _collect(path, progress, block_bytes, flows=True)
    distributed = trace.values.get("distributedInfo")
    distributed = distributed if isinstance(distributed, dict) else {}
    plain = trace.values.get(_PLAIN)
    plain = plain if isinstance(plain, dict) else {}
    timeline = timeline_of(path, trace, "kineto")
    return replace(
        timeline,
        devices=_devices(trace.values.get("deviceProperties")),
        rank=_integer(distributed.get("rank")),
        world_size=max(_integer(distributed.get("world_size")), 1),
        plain_step_us=_microseconds(plain, "plain_step_us"),
        notes=(*timeline.notes, *filter(None, (_plain_note(plain),))),
    )


def _collect(path: Path, progress: ByteProgress | None, block_bytes: int, *, flows: bool) -> Trace:
    decoder = BlockDecoder(flows=flows)
    return collect(path, progress, Columns(), decoder, wanted=_WANTED, block_bytes=block_bytes)


def _devices(listed: object) -> tuple[DeviceInfo, ...]:
    if not isinstance(listed, list):
        return ()
    return tuple(_device(entry) for entry in listed if isinstance(entry, dict))


def _device(entry: dict[str, Any]) -> DeviceInfo:
    numbers = {field: _integer(entry.get(key)) for field, key in _DEVICE_FIELDS.items()}
    numbers["warp_size"] = numbers["warp_size"] or 32
    name = entry.get("name")
    name = name.encode(errors="replace").decode() if isinstance(name, str) else ""
    return DeviceInfo(index=_integer(entry.get("id")), name=name, **numbers)


def _plain_note(plain: dict[str, Any]) -> str:
    """Say where the measured step may be another than the recorded ones are; else nothing."""
    before, after = (_microseconds(plain, f"plain_{when}_us") for when in ("before", "after"))
    if before and after and not 1 / _DRIFT <= after / before <= _DRIFT:
        return (
            f"Without the profiler a step took {before / 1e3:,.2f} ms before those recorded and "
            f"{after / 1e3:,.2f} ms after them: the program's steps change as it runs."
        )
    if plain.get("steady") is False:
        return "The steps were not steady, or not yet, when their recording began."
    return ""


def _microseconds(plain: dict[str, Any], key: str) -> float:
    """Read a time; 0 for what is none."""
    value = plain.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if 0 < value < _LONGEST_US else 0.0


def _integer(value: object) -> int:
    """Read a property that should be a non-negative integer; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return 0
    try:
        number = int(float(value))
    except (ValueError, OverflowError):
        return 0
    return number if 0 <= number < 1 << 62 else 0
