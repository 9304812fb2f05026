"""What rules and replay look at: one timeline on one device, divided into steps and attributed."""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import DeviceInfo, Flags, Ints, Timeline
from tailwave.recordings.timeline.attribution import Attribution, Cause, attribute
from tailwave.recordings.timeline.interference import Interference, interference
from tailwave.recordings.timeline.losses import GridLosses, grid_losses
from tailwave.recordings.timeline.residency import Residency, residency
from tailwave.recordings.timeline.steps import Steps


class Case(msgspec.Struct, frozen=True):
    """One device's part of a recording, measured in every way that the rules need.

    Figures "of the step" are those of the typical step: the one of median duration.
    """

    timeline: Timeline
    device: DeviceInfo
    steps: Steps
    attribution: Attribution
    residency: Residency
    losses: GridLosses
    interference: Interference

    @property
    def step(self) -> int:
        """The typical step."""
        return self.steps.typical

    @property
    def step_us(self) -> float:
        """Duration of the typical step (us)."""
        return float(self.steps.duration[self.step]) / 1e3

    def cause_us(self, cause: Cause) -> float:
        """Time of the step that went to a cause (us)."""
        return float(self.attribution.ns[self.step, cause]) / 1e3

    @property
    def gpu_rows(self) -> Flags:
        """The GPU rows that the step launched on this device."""
        gpu = self.timeline.gpu
        mine = (self.steps.gpu_step == self.step) & (gpu.device == self.device.index)
        return np.asarray(mine, dtype=bool)

    def host_rows(self) -> Ints:
        """The host rows that began in the step's host code."""
        low, high = self.steps.host_start[self.step], self.steps.host_end[self.step]
        start = self.timeline.host.start
        return np.arange(np.searchsorted(start, low), np.searchsorted(start, high))

    def name_of_host(self, row: int) -> str:
        """Name of a host row."""
        return self.timeline.names[int(self.timeline.host.name[row])]

    def name_of_gpu(self, row: int) -> str:
        """Name of a GPU row."""
        return self.timeline.names[int(self.timeline.gpu.name[row])]


def build_case(timeline: Timeline, steps: Steps, device: DeviceInfo) -> Case:
    """Measure one device's part of a timeline."""
    attribution = attribute(timeline, steps, device.index)
    fits = residency(timeline)
    return Case(
        timeline=timeline,
        device=device,
        steps=steps,
        attribution=attribution,
        residency=fits,
        losses=grid_losses(timeline, fits, device.index, device.sm_count),
        interference=interference(timeline, device.index, attribution.launch_latency),
    )
