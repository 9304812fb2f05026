"""What was concluded from recordings and kernel profiles."""

from __future__ import annotations

import msgspec

from tailwave.model.finding import Finding
from tailwave.model.kernels import KernelDiagnosis
from tailwave.model.printable import Printable
from tailwave.model.timeline import DeviceInfo
from tailwave.model.values import Count, Part, TextOrUnknown, Us


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
        mean_us: The mean step, as recorded. What a division sums to, and what every figure "of a
            step" is of: all the steps count.
        median_us: The median step.
        p90_us: Nine of ten steps take no longer.
        p99_us: 99 of 100 steps take no longer.
        max_us: The longest step.
        gpu_busy_us: Of the mean step, the time in which the GPU did anything.
        replayed: Steps that the replay runs, every slow one among them, each weighed by how many
            it stands for; as many as there are, unless there are very many.
    """

    count: Count
    by: str
    mean_us: Us
    median_us: Us
    p90_us: Us
    p99_us: Us
    max_us: Us
    gpu_busy_us: Us
    replayed: Count


class Share(msgspec.Struct, frozen=True):
    """A part of a step's time: what the GPU did or waited for.

    Attributes:
        what: ``kernels``, ``copies``, ``collectives``, or the cause of the GPU's wait.
        label: The same in words.
        us: Microseconds of the mean step.
    """

    what: str
    label: str
    us: Us


class StepTime(msgspec.Struct, frozen=True):
    """The step that every gain counts from, in microseconds.

    Attributes:
        us: The mean step without the recorder.
        low_us: It is no shorter than this.
        high_us: It is no longer than this.
        by: ``measured`` where the plain time was measured, ``estimated`` where the recorder's cost
            was taken off by a model, ``recorded`` where nothing was taken off.
        recorded_us: The mean step as recorded.
    """

    us: Us
    low_us: Us
    high_us: Us
    by: str
    recorded_us: Us


class StepKernel(msgspec.Struct, frozen=True):
    """What the launches of one kernel, or copies of one kind, cost a step.

    Attributes:
        name: Short and readable.
        kind: matrix product, attention, convolution, elementwise, reduction, collective, copy,
            or other.
        calls: Launches a step.
        us: Microseconds a step.
        share: Of the time in which the GPU was busy.
    """

    name: str
    kind: str
    calls: float
    us: Us
    share: Part


class Diagnosis(Printable, frozen=True):
    """What ``tailwave diagnose`` says of one input. Times are microseconds, of a step or a kernel.

    Attributes:
        source: Where it comes from.
        device: The GPU; null when the recording does not describe it.
        steps: Null when no steps can be told apart; the notes say why.
        now: The step that the findings' gains count from; null without steps.
        division: Where the time of a step goes, as recorded: each microsecond is in exactly one
            share.
        costliest: The five kernels, or kinds of copies, that take most of a step's GPU time.
        findings: What costs time: first those with a gain, the greatest first; then those whose
            gain has a condition; then those without a gain, by their share.
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
    now: StepTime | None = None
    costliest: tuple[StepKernel, ...] = ()
    kernels: tuple[KernelDiagnosis, ...] = ()
    next: TextOrUnknown = ""
