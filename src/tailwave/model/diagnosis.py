"""What was concluded from recordings and kernel profiles."""

from __future__ import annotations

import msgspec

from tailwave.model.finding import Finding
from tailwave.model.kernels import KernelDiagnosis
from tailwave.model.printable import Printable
from tailwave.model.timeline import DeviceInfo
from tailwave.model.values import Count, TextOrUnknown, Us


class Source(msgspec.Struct, frozen=True):
    """Where a result comes from.

    Attributes:
        path: The input as it was named.
        kind: The recorder (kineto, nsys, record, sim); of kernel profiles alone, what holds them:
            ncu-report, "ncu-csv raw", "ncu-csv details", or ncu for several kinds of files.
        events: Events read from the input; kernel launches of profiles.
        ranks: The ranks of the run, or its processes by number.
    """

    path: str
    kind: str
    events: Count
    ranks: tuple[int, ...]


class StepsSummary(msgspec.Struct, frozen=True):
    """How the recording divides into steps.

    Attributes:
        count: Steps in the recording.
        by: What told them apart: ``ProfilerStep``, ``annotation NAME``, ``kernel period`` or
            ``whole trace``.
        median_us: The median step.
        gpu_busy_us: Of it, the time in which the GPU did anything.
    """

    count: Count
    by: str
    median_us: Us
    gpu_busy_us: Us


class Share(msgspec.Struct, frozen=True):
    """A part of a step's time: what the GPU did or waited for.

    Attributes:
        what: ``kernels``, ``copies``, ``collectives``, or the cause of the GPU's wait.
        label: The same in words.
        us: Microseconds of the typical step.
    """

    what: str
    label: str
    us: Us


class Diagnosis(Printable, frozen=True):
    """What ``tailwave diagnose`` says of one input. Times are microseconds, of a step or a kernel.

    Attributes:
        source: Where it comes from.
        device: The GPU; null when the recording does not describe it.
        steps: Null when no steps can be told apart; the notes say why.
        division: Where the time of a step goes, as recorded: each microsecond is in exactly one
            share.
        findings: What costs time, greatest ``recoverable_us`` first.
        notes: What was assumed, left out or repaired.
        withheld: Codes of findings that the recording is not sound enough to carry.
        kernels: Kernels of the kernel profiles, that which loses most time first; empty without.
        next: The command to type next; null where there is nothing to do.
    """

    source: Source
    device: DeviceInfo | None
    steps: StepsSummary | None
    division: tuple[Share, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    withheld: tuple[str, ...] = ()
    kernels: tuple[KernelDiagnosis, ...] = ()
    next: TextOrUnknown = ""
