"""The link between host and GPU is the bound: its bytes take longer than the GPU's work.

What it means:
    All that a step copies goes over one link (PCIe, or NVLink of a Grace host), in each direction
    one byte after the other. A step that needs more time for its bytes than for its kernels is as
    long as the link is slow, however well the copies are pinned and overlapped.

How it is found:
    Two replays: one with the step's copies pinned and overlapped at the link's speed, and one in
    which they take no time as well. The difference is what the link holds up. The link's speed is
    that of the recording's own large pinned copies, else a typical one for the chip's generation.
    How many bytes could be spared the recording cannot tell, so no gain is given.

What cures it:
    fewer-bytes: copy half-precision or 8-bit data and convert it on the GPU, keep there what is
    used again, compute there what can be computed. A link that is slower than the GPU's generation
    allows is narrower or older than the slot should be (nvidia-smi -q -d PCIE).

What fools it:
    Several GPUs may share the link, or a switch above it. A link that no large copy uses alone
    looks slower than it is.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.figures import percent, quantity
from tailwave.model import Evidence, Finding, GpuKind, Ints
from tailwave.recordings.causes.build import Worth, finding, places
from tailwave.recordings.replay.copy_changes import async_copy, without_bytes
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.timeline.calls import SIZEABLE_COPY, direction, is_migration
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.intervals import union_of
from tailwave.recordings.timeline.link import typical_link

CODE = "link-bound"

_WAYS = {"HtoD": "to the GPU", "DtoH": "to the host"}


class Traffic(msgspec.Struct, frozen=True):
    """Sizeable copies in one direction: GPU rows, their bytes, the time (ns) while any ran."""

    rows: Ints
    size: float
    busy: float
    fastest: float  # GB/s


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Compare the step of overlapped copies with that of copies that take no time."""
    ways = {way: found for way in _WAYS if (found := _traffic(case, way)).size}
    if not ways or not forecast.sound:
        return None
    overlapped = forecast.after(async_copy).step_us
    held = max(overlapped - forecast.after(without_bytes, async_copy).step_us, 0.0)
    brings = Worth(forecast.now.us, None, min(held / forecast.now.us, 1.0))
    way, most = max(ways.items(), key=lambda item: item[1].busy)
    claim = (
        f"{_each(case, most)} {_WAYS[way]} in each step, at {_speed(most)}, take "
        f"{percent(case.a_step(most.busy) / case.step_us)} of it; pinned and overlapped with the "
        f"kernels, copies would still hold up {brings.part}."
    )
    return finding(
        brings,
        code=CODE,
        title="The link between host and GPU is the bound",
        claim=claim,
        evidence=_evidence(case, ways),
        cures=("fewer-bytes",),
    )


def _traffic(case: Case, way: str) -> Traffic:
    gpu, names = case.timeline.gpu, case.timeline.names
    mine = [direction(name) == way and not is_migration(name) for name in names]
    copied = case.gpu_rows & (gpu.kind == GpuKind.MEMCPY) & (gpu.bytes >= SIZEABLE_COPY)
    rows = np.flatnonzero(copied & np.array(mine, dtype=bool)[gpu.name])
    size, took = gpu.bytes[rows], np.maximum(gpu.end[rows] - gpu.start[rows], 1)
    begin, end = union_of(gpu.start[rows], gpu.end[rows])
    fastest = float((size / took).max(initial=0.0))
    return Traffic(rows, float(size.sum()), float((end - begin).sum()), fastest)


def _each(case: Case, found: Traffic) -> str:
    return quantity(found.size / len(case.steps) / 1e9, "GB")


def _speed(found: Traffic) -> str:
    return quantity(found.size / max(found.busy, 1), "GB/s")


def _evidence(case: Case, ways: dict[str, Traffic]) -> list[Evidence]:
    evidence: list[Evidence] = []
    for way, found in ways.items():
        evidence += [
            Evidence(
                f"copied {_WAYS[way]}, {_each(case, found)} a step", case.a_step(found.busy), "us"
            ),
            Evidence(
                f"the fastest of these copies, of {_speed(found)} in all", found.fastest, "GB/s"
            ),
        ]
    if case.device.compute_major:
        typical = typical_link(case.device) / 1e3
        evidence.append(Evidence("a link of 16 lanes of this GPU's generation", typical, "GB/s"))
    return evidence + places(case, case.timeline.gpu.launch[ways[max(ways)].rows])
