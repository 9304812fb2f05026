"""From a Timeline to a Case: doubts noted, the absurd left out, steps found, time attributed."""

from __future__ import annotations

import msgspec
import numpy as np
from msgspec.structs import replace

from tailwave.figures import time
from tailwave.model import DeviceInfo, HostKind, Timeline
from tailwave.recordings.timeline.case import Case, build_case
from tailwave.recordings.timeline.mending import mended
from tailwave.recordings.timeline.migrations import migrations
from tailwave.recordings.timeline.quality import Quality, assess, whole_steps
from tailwave.recordings.timeline.steps import Steps, find_steps

# What lies outside the steps is worth a note from this share of the recording on.
_WORTH_A_NOTE = 0.1


class Prepared(msgspec.Struct, frozen=True):
    """A case on the busiest GPU of a timeline, with the doubts about it as notes."""

    case: Case
    quality: Quality
    notes: tuple[str, ...]


def prepare(timeline: Timeline) -> Prepared:
    """Make a timeline that holds GPU work ready for rules and replay."""
    sound = mended(timeline)
    mends = sound.notes[len(timeline.notes) :]
    device = busiest_device(sound)
    found = find_steps(sound, device.index)
    quality = assess(sound, found)
    steps, step_notes = whole_steps(found, ~migrations(sound))
    return Prepared(
        case=build_case(sound, steps, device),
        quality=quality,
        notes=(
            *mends,
            *quality.notes,
            *step_notes,
            *_edge_notes(sound, steps),
            *_device_notes(sound, device),
        ),
    )


def busiest_device(timeline: Timeline) -> DeviceInfo:
    """Return the GPU with the most work in the recording.

    Where a recorder numbers it otherwise than it describes it, the only one described is it.
    """
    gpu = timeline.gpu
    devices, inverse = np.unique(gpu.device, return_inverse=True)
    work = np.bincount(inverse, weights=(gpu.end - gpu.start).astype(np.float64))
    index = int(devices[np.argmax(work)]) if len(devices) else 0
    for device in timeline.devices:
        if device.index == index:
            return device
    if len(devices) == len(timeline.devices) == 1:
        return replace(timeline.devices[0], index=index)
    return DeviceInfo(index=index)


def _edge_notes(timeline: Timeline, steps: Steps) -> list[str]:
    """Say how much of the recording lies before and after its steps."""
    host, gpu = timeline.host, timeline.gpu
    calls = host.kind != HostKind.ANNOTATION
    starts = [int(column.min()) for column in (host.start[calls], gpu.start) if len(column)]
    ends = [int(column.max()) for column in (host.end[calls], gpu.end) if len(column)]
    before = int(steps.complete_from[0]) - min(starts)
    after = max(ends) - int(steps.complete_to[-1])
    whole = max(max(ends) - min(starts), 1)
    return [
        f"{time(ns / 1e3)} of the recording {words}"
        for ns, words in (
            (before, "come before its steps: start-up, or work that was launched earlier."),
            (after, "come after its steps."),
        )
        if ns > _WORTH_A_NOTE * whole
    ]


def _device_notes(timeline: Timeline, device: DeviceInfo) -> tuple[str, ...]:
    notes: list[str] = []
    others = len(np.unique(timeline.gpu.device)) - 1
    if others:
        notes.append(
            f"The recording holds {others + 1} GPUs; this is GPU {device.index}, the busiest."
        )
    if not device.sm_count:
        notes.append(
            "The recording does not describe its GPU, so waves and idle SMs cannot be computed."
        )
    return tuple(notes)
