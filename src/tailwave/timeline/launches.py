"""When the host issued each piece of GPU work."""

from __future__ import annotations

import numpy as np

from tailwave.model import Ints, Timeline

# Before every moment of a recording: what is not in it was issued before it began.
NOT_RECORDED = int(np.iinfo(np.int64).min)


def issued(timeline: Timeline) -> Ints:
    """Return when the call that launched each GPU row began (ns), or NOT_RECORDED."""
    launch = timeline.gpu.launch
    moment = np.full(len(launch), NOT_RECORDED, dtype=np.int64)
    known = launch >= 0
    moment[known] = timeline.host.start[launch[known]]
    return moment


def issued_in_order(timeline: Timeline) -> Ints:
    """Return the same, taking for an unrecorded launch that of the row before it in its stream.

    A stream runs its work in the order in which it was issued.
    """
    gpu = timeline.gpu
    moment = issued(timeline)
    order = np.lexsort((gpu.start, gpu.stream, gpu.device))
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (np.diff(gpu.stream[order]) != 0) | (np.diff(gpu.device[order]) != 0)
    position = np.arange(len(order))
    known = (moment[order] != NOT_RECORDED) | fresh
    moment[order] = moment[order][np.maximum.accumulate(np.where(known, position, 0))]
    return moment
