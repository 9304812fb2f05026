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
from tailwave.recordings.causes.build import finding, places, worth
from tailwave.recordings.replay.division import Cause
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.timeline.calls import crosses_link, is_migration, is_pageable
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.link import link_speed

CODE = "blocking-copy"


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Compare the step with the same step when its copies are pinned and overlapped."""
    rows = _copies(case)
    if len(rows) == 0:
        return None
    exposed, held = (forecast.division.us(cause) for cause in (Cause.COPY, Cause.BLOCKED_COPY))
    brings = worth(forecast, "async-copy", exposed + held)
    pageable = sum(is_pageable(case.name_of_gpu(row)) for row in rows.tolist())
    claim = (
        f"Copies hold up {brings.part} of each step"
        f"{f', {pageable} of {len(rows)} from pageable memory' if pageable else ''}; "
        f"pinned and overlapped, {brings.gain}."
    )
    return finding(
        brings,
        code=CODE,
        title="Copies between host and GPU are on the critical path",
        claim=claim,
        evidence=_evidence(case, forecast, rows),
        cures=("async-copy",),
    )


def _copies(case: Case) -> Ints:
    """Rows of the steps' copies between host and GPU."""
    gpu = case.timeline.gpu
    crosses = [crosses_link(name) and not is_migration(name) for name in case.timeline.names]
    copied = case.gpu_rows & (gpu.kind == GpuKind.MEMCPY)
    return np.flatnonzero(copied & np.array(crosses, dtype=bool)[gpu.name])


def _evidence(case: Case, forecast: Forecast, rows: Ints) -> list[Evidence]:
    gpu = case.timeline.gpu
    size = float(np.maximum(gpu.bytes[rows], 0).sum())
    took = float((gpu.end - gpu.start)[rows].sum())
    held = forecast.division.us(Cause.BLOCKED_COPY)
    return [
        Evidence("only copies on the GPU", forecast.division.us(Cause.COPY), "us"),
        Evidence("GPU idle after a copy had held the host", held, "us"),
        Evidence("copied in the step", size / len(case.steps), "B"),
        Evidence("speed of these copies", size / took if took else 0.0, "GB/s"),
        Evidence("speed of the link", link_speed(case.timeline, case.device) / 1e3, "GB/s"),
        *places(case, gpu.launch[rows]),
    ]
