"""Copies of pageable memory, or copies in series with the kernels, on the critical path.

What it means:
    A copy from ordinary (pageable) host memory is staged by the driver: it runs at a fraction of
    the link's speed and holds the host until it is done. A copy in the stream of the kernels
    makes them wait even when it is pinned. The copy engines could do it meanwhile.

How it is found:
    Time in which only copies ran on the GPU, and idle time after a copy had held the host. The
    cure overlaps the copies with the kernels at the link's speed: the step then takes no less
    than its bytes need in each direction. The link's speed is that of the recording's own large
    pinned copies, else a typical one for the chip's generation.

What cures it:
    async-copy: pin_memory=True in the DataLoader or tensor.pin_memory(), then
    .to(device, non_blocking=True) on a stream of its own, for the next batch while this one runs.

What fools it:
    A step whose copies already run at the link's speed, overlapped, is bound by the link: nothing
    here cures that but fewer bytes. Copies that depend on this step's own results cannot overlap
    with the kernels that make them.
"""

from __future__ import annotations

import numpy as np

from tailwave.model import Evidence, Finding, GpuKind, Ints
from tailwave.recordings.causes.build import finding, gain, places, share_saved
from tailwave.recordings.replay.copy_changes import async_copy
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.timeline.attribution import Cause
from tailwave.recordings.timeline.calls import crosses_link, is_pageable
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.link import link_speed

CODE = "blocking-copy"


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Compare the step with the same step when its copies are pinned and overlapped."""
    exposed, held = case.cause_us(Cause.COPY), case.cause_us(Cause.BLOCKED_COPY)
    rows = _copies(case)
    if len(rows) == 0 or exposed + held <= 0:
        return None
    link = link_speed(case.timeline, case.device)
    after = forecast.after(async_copy).step_us
    pageable = sum(is_pageable(case.name_of_gpu(int(row))) for row in rows)
    claim = (
        f"Copies hold up {share_saved(forecast, after)} of each step"
        f"{f', {pageable} of {len(rows)} from pageable memory' if pageable else ''}; "
        f"pinned and overlapped, {gain(forecast, after)}."
    )
    return finding(
        forecast,
        code=CODE,
        title="Copies between host and GPU are on the critical path",
        claim=claim,
        after_us=after,
        evidence=_evidence(case, rows, exposed, held, link),
        cures=("async-copy",),
    )


def _copies(case: Case) -> Ints:
    """Rows of the step's copies between host and GPU."""
    gpu = case.timeline.gpu
    rows = np.flatnonzero(case.gpu_rows & (gpu.kind == GpuKind.MEMCPY))
    crosses = [crosses_link(case.name_of_gpu(int(row))) for row in rows]
    return rows[np.array(crosses, dtype=bool)] if len(rows) else rows


def _evidence(case: Case, rows: Ints, exposed: float, held: float, link: float) -> list[Evidence]:
    gpu = case.timeline.gpu
    size = float(np.maximum(gpu.bytes[rows], 0).sum())
    took = float((gpu.end - gpu.start)[rows].sum()) / 1e3
    return [
        Evidence("only copies on the GPU", exposed, "us"),
        Evidence("GPU idle after a copy had held the host", held, "us"),
        Evidence("copied in the step", size, "B"),
        Evidence("speed of these copies", size / took / 1e3 if took else 0.0, "GB/s"),
        Evidence("speed of the link", link / 1e3, "GB/s"),
        *places(case, gpu.launch[rows]),
    ]
