"""From a Timeline to a Case: doubts noted, the absurd left out, steps found, time attributed."""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import DeviceInfo, Timeline
from tailwave.recordings.timeline.case import Case, build_case
from tailwave.recordings.timeline.quality import Quality, assess, whole_steps, without_absurd
from tailwave.recordings.timeline.steps import find_steps


class Prepared(msgspec.Struct, frozen=True):
    """A case on the busiest GPU of a timeline, with the doubts about it as notes."""

    case: Case
    quality: Quality
    notes: tuple[str, ...]


def prepare(timeline: Timeline) -> Prepared:
    """Make a timeline that holds GPU work ready for rules and replay."""
    sound = without_absurd(timeline)
    left_out = sound.notes[len(timeline.notes) :]
    quality = assess(sound)
    device = busiest_device(sound)
    steps, step_notes = whole_steps(find_steps(sound, device.index))
    return Prepared(
        case=build_case(sound, steps, device),
        quality=quality,
        notes=(*left_out, *quality.notes, *step_notes, *_device_notes(sound, device)),
    )


def busiest_device(timeline: Timeline) -> DeviceInfo:
    """Return the GPU with the most work in the recording."""
    gpu = timeline.gpu
    devices, inverse = np.unique(gpu.device, return_inverse=True)
    work = np.bincount(inverse, weights=(gpu.end - gpu.start).astype(np.float64))
    index = int(devices[np.argmax(work)])
    for device in timeline.devices:
        if device.index == index:
            return device
    return DeviceInfo(index=index)


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
