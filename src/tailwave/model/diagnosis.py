"""What was concluded from recordings and kernel profiles."""

from __future__ import annotations

import msgspec

from tailwave.model.finding import Finding
from tailwave.model.kernels import KernelDiagnosis
from tailwave.model.timeline import DeviceInfo


class Source(msgspec.Struct, frozen=True):
    """Where a diagnosis comes from: the path given, the recorder, how much was read."""

    path: str
    kind: str
    events: int
    ranks: tuple[int, ...]


class StepsSummary(msgspec.Struct, frozen=True):
    """How the recording divides into steps; times are microseconds per step (medians).

    ``by`` names the evidence: ``ProfilerStep``, ``annotation NAME``, ``kernel period`` or
    ``whole trace``.
    """

    count: int
    by: str
    median_us: float
    gpu_busy_us: float


class Share(msgspec.Struct, frozen=True):
    """A part of a step's time: what the GPU did or waited for, microseconds per step.

    The shares of a step add up to the step: every microsecond is in exactly one.
    """

    what: str  # "kernels", "copies", or the code of the cause that the GPU waited for
    label: str
    us: float


class Diagnosis(msgspec.Struct, frozen=True):
    """Everything that ``tailwave diagnose`` says about one input, ready to be rendered.

    ``withheld`` holds the codes of findings that the recording is not sound enough to carry.
    """

    source: Source
    device: DeviceInfo | None
    steps: StepsSummary | None  # None when nothing could be concluded about steps
    division: tuple[Share, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    withheld: tuple[str, ...] = ()
    kernels: tuple[KernelDiagnosis, ...] = ()  # of kernel profiles, where there were any
