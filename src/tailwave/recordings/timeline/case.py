"""What rules and replay look at: one timeline on one device, divided into steps."""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import DeviceInfo, Flags, Ints, Timeline
from tailwave.recordings.timeline.hostwork import HostWork, host_work
from tailwave.recordings.timeline.interference import Interference, interference
from tailwave.recordings.timeline.lanes import Lane, build_lanes
from tailwave.recordings.timeline.launches import launch_latency
from tailwave.recordings.timeline.losses import GridLosses, grid_losses
from tailwave.recordings.timeline.ranks import RankWaits
from tailwave.recordings.timeline.residency import Residency, residency
from tailwave.recordings.timeline.steps import Steps


class Case(msgspec.Struct, frozen=True):
    """One device's part of a recording, measured in every way that the rules need.

    Every step counts: figures "of the step" are means over all of them. ``lanes`` are the lines of
    host activity that issue work, the busiest first, and ``work`` what each was doing;
    ``launch_latency`` is the time (ns) from a launch call to the start of its work on an idle GPU.
    ``rank_waits`` tells of several ranks whom they wait for, and ``place`` which of them this is.
    """

    timeline: Timeline
    device: DeviceInfo
    steps: Steps
    lanes: tuple[Lane, ...]
    work: tuple[HostWork, ...]
    launch_latency: int
    residency: Residency
    losses: GridLosses
    interference: Interference
    rank_waits: RankWaits | None = None
    place: int = 0

    @property
    def step_us(self) -> float:
        """Duration of the mean step (us)."""
        return float(self.steps.duration.mean()) / 1e3

    def a_step(self, ns: float) -> float:
        """Share out a total over all steps (ns) to one step (us)."""
        return float(ns) / len(self.steps) / 1e3

    @property
    def gpu_rows(self) -> Flags:
        """The GPU rows that the steps launched on this device."""
        mine = (self.steps.gpu_step >= 0) & (self.timeline.gpu.device == self.device.index)
        return np.asarray(mine, dtype=bool)

    @property
    def rank_waited(self) -> Ints:
        """Time (ns) that each GPU row, a collective, waited for another rank."""
        waited = np.zeros(len(self.timeline.gpu), dtype=np.int64)
        if self.rank_waits is not None:
            waited[self.rank_waits.rows[self.place]] = self.rank_waits.waited[self.place]
        return waited

    def host_rows(self) -> Ints:
        """The host rows that began in the steps' host code."""
        start = self.timeline.host.start
        low, high = np.searchsorted(start, (self.steps.host_start[0], self.steps.host_end[-1]))
        return np.arange(low, high)

    def name_of_host(self, row: int) -> str:
        """Name of a host row."""
        return self.timeline.names[int(self.timeline.host.name[row])]

    def name_of_gpu(self, row: int) -> str:
        """Name of a GPU row."""
        return self.timeline.names[int(self.timeline.gpu.name[row])]


def build_case(timeline: Timeline, steps: Steps, device: DeviceInfo) -> Case:
    """Measure one device's part of a timeline."""
    lanes = build_lanes(timeline)
    latency = launch_latency(timeline, np.flatnonzero(timeline.gpu.device == device.index))
    fits = residency(timeline)
    return Case(
        timeline=timeline,
        device=device,
        steps=steps,
        lanes=tuple(lanes),
        work=host_work(timeline, lanes, steps),
        launch_latency=latency,
        residency=fits,
        losses=grid_losses(timeline, fits, device),
        interference=interference(timeline, device.index, latency),
    )
