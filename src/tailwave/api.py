"""What the commands do, as functions: they take files or nouns, and give nouns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Final, TypeAlias

from msgspec.structs import replace

from tailwave import next_commands
from tailwave.errors import UsageError
from tailwave.gpu.compare import compare as compare_sessions
from tailwave.model import (
    Comparison,
    Diagnosis,
    Predictions,
    Recording,
    RecordingComparison,
    Session,
)
from tailwave.profiles import Join, diagnose_profiles, holds_profiles, once, read_profiles
from tailwave.recordings.causes.diagnose import diagnose as diagnose_timelines
from tailwave.recordings.comparison.compare import compare_timelines
from tailwave.recordings.readers import read as read_timelines
from tailwave.recordings.replay.predict import replay
from tailwave.recordings.replay.whatif import WHATIFS, WhatIf, host_speed_is, sm_count_is
from tailwave.reports.chrome import save_chrome
from tailwave.session import holds_session, load

AnyPath: TypeAlias = str | os.PathLike[str]
Progress: TypeAlias = Callable[[int, int], None]
StepTime: TypeAlias = float | Iterable[float]  # microseconds

# The least speed of a host; the arithmetic of the replay holds down to there.
_SLOWEST_HOST: Final = 0.001
_MOST_SMS: Final = 1_000_000  # up to there
_LONGEST_STEP_US: Final = 1e12  # eleven days
# What everybody calls by a shorter name too.
_SHORT_NAMES: Final = {"cuda-graph": ("graph",)}


def read(paths: AnyPath | Iterable[AnyPath], *, progress: Progress | None = None) -> Recording:
    """Read what was recorded of one run: traces, folders of them, files of Nsight Compute.

    Several traces are the ranks of the run. ``progress`` is called with the bytes that were read of
    them all, and their total. Raises UnreadableInputError for what cannot be read.
    """
    named = _paths(paths)
    profiled = [path for path in named if holds_profiles(path)]
    traced = [path for path in named if path not in profiled]
    apart = {path.resolve(): path for path in profiled}  # a file may be given twice
    return Recording(
        named,
        tuple(read_timelines(traced, progress)),
        tuple(once([read_profiles(path) for path in apart.values()])),
    )


def _paths(paths: object) -> tuple[Path, ...]:
    """Take a path or several; raises UsageError for anything else."""
    if isinstance(paths, str | bytes | os.PathLike) or not isinstance(paths, Iterable):
        paths = (paths,)
    found: list[Path] = []
    for path in paths:
        if not isinstance(path, str | os.PathLike):
            raise UsageError(
                "give a path (a str or a pathlib.Path), or what tailwave.read gave, and no "
                f"{type(path).__name__}."
            )
        found.append(Path(path))
    if not found:
        raise UsageError("no file was given: name a trace, a folder of them or a kernel profile.")
    return tuple(found)


def diagnose(
    recording: Recording | AnyPath | Iterable[AnyPath], *, step_time: StepTime | None = None
) -> Diagnosis:
    """Say what is wrong with a recording, and what curing it is worth.

    Of a trace and kernel profiles together, the profile's kernels are found in the trace, and what
    each loses is counted in the trace's step. ``step_time`` is how long a step takes without the
    profiler, as you have measured it, in microseconds: one, or one for each rank. Raises
    UnreadableInputError for files that cannot be read, UsageError for times that do not fit them.
    """
    whole = _recording(recording, step_time)
    found = _diagnosis(whole)
    return replace(found, next=next_commands.after_diagnosis(found, whole))


def _recording(
    recording: Recording | AnyPath | Iterable[AnyPath], step_time: StepTime | None
) -> Recording:
    whole = recording if isinstance(recording, Recording) else read(recording)
    return whole if step_time is None else _measured(whole, step_time)


def _measured(recording: Recording, step_time: StepTime) -> Recording:
    """Put the times of a plain step in the place of those that the files hold."""
    times = [step_time] if isinstance(step_time, int | float) else list(step_time)
    timelines = recording.timelines
    if not all(isinstance(time, int | float) and 0 < time <= _LONGEST_STEP_US for time in times):
        raise UsageError("step_time (--step-time) is how long a step takes: more than 0.")
    if not timelines:
        raise UsageError(
            "step_time (--step-time) is a time of a trace's step, and there is no trace."
        )
    if len(times) not in (1, len(timelines)):
        raise UsageError(
            f"step_time (--step-time) gives {len(times)} times, and the recording has "
            f"{len(timelines)} rank{'s' if len(timelines) > 1 else ''}: give one, or one a rank."
        )
    given = times if len(times) > 1 else times * len(timelines)
    measured = [
        replace(timeline, plain_step_us=float(time))
        for timeline, time in zip(timelines, given, strict=True)
    ]
    return replace(recording, timelines=tuple(measured))


def _diagnosis(recording: Recording) -> Diagnosis:
    if not recording.profiles:
        return diagnose_timelines(recording.timelines, recording.name)
    alone = diagnose_profiles(recording.profiles, recording.name)
    if not recording.timelines:
        return alone
    together = diagnose_timelines(recording.timelines, recording.name, Join(alone.kernels))
    return replace(
        together,
        kernels=together.kernels or alone.kernels,  # without steps there is no place for them
        notes=(*together.notes, *alone.notes),
    )


def whatif(
    recording: Recording | AnyPath | Iterable[AnyPath],
    *changes: str,
    sm_count: int | None = None,
    host_speed: float | None = None,
    trace: AnyPath | None = None,
    step_time: StepTime | None = None,
) -> Predictions:
    """Predict what changes would bring, together; without one, each alone and the best together.

    ``changes`` are named as on the command line ("cuda-graph", "no-sync"), or by a cure that brings
    them about ("prefetch"). ``sm_count`` asks for a chip of so many SMs, ``host_speed`` for a host
    that issues so many times as fast. ``trace`` names the file to which the predicted timeline is
    written as a Chrome trace (compressed if it ends in .gz). ``step_time`` is as for `diagnose`.
    Raises UsageError for a name or a figure that means nothing, UnreadableInputError for what
    cannot be replayed.
    """
    whatifs = _whatifs(changes, sm_count, host_speed)
    if trace is not None and not whatifs:
        raise UsageError("trace (--trace) needs at least one change, such as cuda-graph.")
    whole = _recording(recording, step_time)
    again = replay(whole.timelines, whole.name)
    if trace is not None:
        save_chrome(again.timeline(whatifs), Path(trace))
    found = again.predict(whatifs)
    return replace(found, next=next_commands.after_whatif(found, whole))


def _whatifs(
    changes: tuple[str, ...], sm_count: int | None, host_speed: float | None
) -> list[WhatIf]:
    """Find the what-ifs of some names, and those that have a figure."""
    named = [_named(change) for change in changes]
    whatifs = [whatif for whatif in WHATIFS if whatif in named]  # each once
    if sm_count is not None:
        if not 1 <= sm_count <= _MOST_SMS:
            raise UsageError(f"sm_count (--sm-count) is from 1 to {_MOST_SMS:,}, not {sm_count}.")
        whatifs.append(sm_count_is(sm_count))
    if host_speed is not None:
        if not host_speed >= _SLOWEST_HOST:  # also of what is not a number
            raise UsageError(
                f"host_speed (--host-speed) is {_SLOWEST_HOST} or more, not {host_speed}."
            )
        whatifs.append(host_speed_is(host_speed))
    return whatifs


def names_of(whatif: WhatIf) -> tuple[str, ...]:
    """Return all names of a what-if: its own, a shorter one, those of its cures."""
    return (whatif.name, *_SHORT_NAMES.get(whatif.name, ()), *whatif.cures)


def _named(change: object) -> WhatIf:
    by_name = {name: whatif for whatif in WHATIFS for name in names_of(whatif)}
    if change not in by_name:
        near = get_close_matches(str(change), by_name, n=1)
        meant = f"did you mean {near[0]}?" if near else f"there are {', '.join(by_name)}."
        raise UsageError(f"there is no change {change}; {meant}")
    return by_name[str(change)]


def compare(
    before: Session | Recording | AnyPath | Iterable[AnyPath],
    after: Session | Recording | AnyPath | Iterable[AnyPath],
) -> Comparison | RecordingComparison:
    """Say what differs between two checks, or between two recordings of the same work.

    Of checks (sessions, or files that hold them) every figure that differs, worst first; of
    recordings the difference of the step, divided by cause. Raises UsageError for one of each and
    for recordings of different work, UnreadableInputError for what cannot be read or has no steps.
    """
    old, new = _session_or_recording(before), _session_or_recording(after)
    if isinstance(old, Session) and isinstance(new, Session):
        return compare_sessions(old, new)
    if isinstance(old, Recording) and isinstance(new, Recording):
        return compare_timelines(old.timelines, old.name, new.timelines, new.name)
    raise UsageError(
        "one of the two is a session of `tailwave check` and the other a recording: give two "
        "sessions, or two recordings."
    )


def _session_or_recording(
    given: Session | Recording | AnyPath | Iterable[AnyPath],
) -> Session | Recording:
    if isinstance(given, Session):
        return given
    if isinstance(given, str | os.PathLike) and holds_session(Path(given)):
        return load(Path(given))
    return _recording(given, None)


def show(path: AnyPath) -> Session:
    """Load a saved check, also one of an older tailwave; print it to see its report.

    Raises UnreadableInputError for a file that is none.
    """
    (file,) = _paths((path,))
    return load(file)
