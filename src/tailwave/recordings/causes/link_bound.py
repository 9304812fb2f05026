"""The link between host and GPU is the bound: its bytes take longer than the GPU's work.

What it means:
    All that a step copies goes over one link (PCIe, or NVLink of a Grace host), in each direction
    one byte after the other. A step that needs more time for its bytes than for its kernels is as
    long as the link is slow, however well the copies are pinned and overlapped.

How it is found:
    Two replays: one with the step's copies pinned and overlapped at the link's speed, and one in
    which they take no time as well. Where the bytes need longer than the second takes, the
    difference is what the link holds up. Its speed is that of the recording's own large pinned
    copies, else a typical one for the chip's generation. How many bytes could be spared the
    recording cannot tell, so no gain is given.

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
from tailwave.recordings.timeline.link import link_speed, typical_link

CODE = "link-bound"

_WAYS = {"HtoD": "to the GPU", "DtoH": "to the host"}


class Traffic(msgspec.Struct, frozen=True):
    """Sizeable copies in one direction.

    ``rows`` are GPU rows, ``busy`` the time (us a step) in which any of them ran, ``needed`` what
    they would take one by one at the link's speed; ``fastest`` is the speed of the fastest (GB/s).
    """

    rows: Ints
    size: float  # bytes a step
    busy: float
    needed: float
    fastest: float

    @property
    def words(self) -> str:
        """How much was copied, and how fast: "25.5 GB at 27.7 GB/s"."""
        speed = quantity(self.size / self.busy / 1e3, "GB/s")
        return f"{quantity(self.size / 1e9, 'GB')} at {speed}"


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Compare the step of overlapped copies with that of copies that take no time."""
    ways = {way: found for way in _WAYS if (found := _traffic(case, way)) is not None}
    if not ways or not forecast.sound:
        return None
    way, most = max(ways.items(), key=lambda item: item[1].needed)
    without = forecast.after(without_bytes, async_copy).step_us
    if most.needed <= without:
        return None
    held = forecast.after(async_copy).step_us - without
    if held <= 0 or forecast.now.us <= 0:
        return None
    brings = Worth(forecast.now.us, None, min(held / forecast.now.us, 1.0))
    claim = (
        f"{most.words} {_WAYS[way]} take {percent(most.busy / case.step_us)} of each step; pinned "
        f"and overlapped with the kernels, copies would still hold up {brings.part} of it."
    )
    return finding(
        brings,
        code=CODE,
        title="The link between host and GPU is the bound",
        claim=claim,
        evidence=_evidence(case, ways),
        cures=("fewer-bytes",),
    )


def _traffic(case: Case, way: str) -> Traffic | None:
    gpu, names = case.timeline.gpu, case.timeline.names
    mine = [direction(name) == way and not is_migration(name) for name in names]
    copied = case.gpu_rows & (gpu.kind == GpuKind.MEMCPY) & (gpu.bytes >= SIZEABLE_COPY)
    rows = np.flatnonzero(copied & np.array(mine, dtype=bool)[gpu.name])
    if len(rows) == 0:
        return None
    size, took = gpu.bytes[rows], np.maximum(gpu.end[rows] - gpu.start[rows], 1)
    begin, end = union_of(gpu.start[rows], gpu.start[rows] + took)
    at_link = np.minimum(size / link_speed(case.timeline, case.device) * 1e3, took)
    return Traffic(
        rows=rows,
        size=float(size.sum()) / len(case.steps),
        busy=case.a_step((end - begin).sum()),
        needed=case.a_step(at_link.sum()),
        fastest=float((size / took).max()),
    )


def _evidence(case: Case, ways: dict[str, Traffic]) -> list[Evidence]:
    evidence: list[Evidence] = []
    for way, found in ways.items():
        evidence += [
            Evidence(f"{found.words} {_WAYS[way]}", found.busy, "us"),
            Evidence("the fastest of these copies", found.fastest, "GB/s"),
        ]
    if case.device.compute_major:
        typical = typical_link(case.device) / 1e3
        evidence.append(Evidence("a link of 16 lanes of this GPU's generation", typical, "GB/s"))
    rows = np.concatenate([found.rows for found in ways.values()])
    return evidence + places(case, case.timeline.gpu.launch[rows])
