"""What a profiler counted of kernels, and what was concluded from it."""

from __future__ import annotations

import enum

import msgspec

from tailwave.model.arrays import Shape
from tailwave.model.finding import Evidence, Severity
from tailwave.model.timeline import DeviceInfo
from tailwave.model.values import Count, Part, Us


class Counter(msgspec.Struct, frozen=True):
    """One hardware counter, or one property of a launch, as a profiler wrote it.

    ``value`` is in ``unit``, a base unit (``ns``, ``byte``, ``byte/s``, ``hz``, ``%``, ``cycle``),
    or a word where the property is one. It is None where there is no value, and ``reason`` says
    why. ``source`` is what the file calls it, or what it follows from, where that is not the name
    that it is kept under.
    """

    value: float | str | None
    unit: str = ""
    reason: str = ""
    source: str = ""


class RuleKind(enum.StrEnum):
    """What a result of the profiler's own rules is."""

    OK = "ok"
    NOTE = "note"  # a plain statement
    OPTIMIZATION = "optimization"
    WARNING = "warning"
    ERROR = "error"


class RuleResult(msgspec.Struct, frozen=True):
    """What the profiler's own rule says of a kernel.

    ``speedup`` is its estimate in percent: where ``scope`` is "global" by how much a cure shortens
    the kernel, where it is "local" by how much one unit gains, looked at alone. None without one.
    """

    name: str
    kind: RuleKind
    message: str
    title: str = ""
    section: str = ""
    speedup: float | None = None
    scope: str = ""


class KernelProfile(msgspec.Struct, frozen=True):
    """The hardware counters of one kernel launch.

    ``name`` is the demangled name where the file has it, ``names`` every spelling that it has.
    Shared memory is in bytes per CTA. What is not known is None or "". ``stalls`` holds, by reason,
    the share (0 to 1) of a warp's time between two instructions that it was stalled for it;
    ``selected`` is the share in which it issued.
    """

    name: str
    launch: int  # its place among the launches of the file, from 0
    names: tuple[str, ...] = ()
    grid: Shape | None = None
    block: Shape | None = None
    dynamic_shared: int | None = None
    static_shared: int | None = None
    registers: int | None = None  # per thread
    device: DeviceInfo | None = None
    stream: int | None = None
    context: int | None = None
    process_id: int | None = None
    process_name: str = ""
    number: int | None = None  # that the profiler gave it, in its process
    counters: dict[str, Counter] = msgspec.field(default_factory=dict)
    stalls: dict[str, Counter] = msgspec.field(default_factory=dict)
    rules: tuple[RuleResult, ...] = ()
    nvtx: tuple[str, ...] = ()  # the ranges that it was launched in, outermost first

    def value(self, *names: str) -> float | None:
        """Return the number of the first of these counters that has one, None if none has."""
        for name in names:
            counter = self.counters.get(name)
            if counter is not None and isinstance(counter.value, float):
                return counter.value
        return None

    def why_missing(self, name: str) -> str:
        """Say why a counter has no number; "" when it has one."""
        counter = self.counters.get(name)
        if counter is None:
            return "not collected"
        if isinstance(counter.value, str):
            return f"a word, {counter.value!r}"
        return counter.reason if counter.value is None else ""


class KernelProfiles(msgspec.Struct, frozen=True):
    """The kernel launches of one profiler's file, in the file's order.

    ``notes`` holds what the reader had to leave out.
    """

    profiles: tuple[KernelProfile, ...]
    kind: str  # "ncu-report", "ncu-csv raw", "ncu-csv details", "ncu-csv details and raw"
    path: str
    notes: tuple[str, ...] = ()


class KernelFinding(msgspec.Struct, frozen=True):
    """One cause of a kernel's lost time, from its counters.

    Attributes:
        code: Its name: ``tailwave explain CODE`` says what it means.
        severity: By ``share``.
        title: What is wrong, in general.
        claim: What is wrong here, with its figures.
        share: The part of the kernel's time that a cure brings back at most.
        evidence: The figures that the claim rests on.
        metrics: The counters that it rests on.
        cures: Names of cures, the first to be tried first.
        theirs: What the profiler's own rules say of the same, in sentences.
        by: Whose figure ``share`` is: ``tailwave``, or ``ncu`` where the counters for tailwave's
            own are missing and the profiler's rule has an estimate.
    """

    code: str
    severity: Severity
    title: str
    claim: str
    share: Part
    evidence: tuple[Evidence, ...] = ()
    metrics: tuple[str, ...] = ()
    cures: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()
    by: str = "tailwave"


class Unanswered(msgspec.Struct, frozen=True):
    """A question that a profile does not answer, for one of some counters is missing.

    A finding of the same code may stand beside it, by the profiler's word.

    Attributes:
        code: The finding that the answer would be.
        question: In words.
        metrics: Spellings of the counter that is missing; the first is to be recorded.
    """

    code: str
    question: str
    metrics: tuple[str, ...]


class InTrace(msgspec.Struct, frozen=True):
    """A profiled kernel's place in a recording.

    Attributes:
        calls: Launches in the mean step.
        step_us: Of the step's kernel time.
        step_share: Of the step without the profiler.
        matched_by: What ties it to the recording's kernels, in words.
    """

    calls: float
    step_us: Us
    step_share: Part
    matched_by: str


class KernelDiagnosis(msgspec.Struct, frozen=True):
    """What is said of one profiled kernel: launches of one name and shape are one kernel.

    Attributes:
        name: As the profiler demangled it.
        names: Every spelling of its name.
        launches: In the profile; shown is the one of median duration.
        grid: CTAs in x, y and z.
        block: Threads in x, y and z.
        device: The GPU that it ran on.
        duration_us: As profiled.
        bound: What limits it, in words.
        findings: Greatest ``share`` first.
        figures: The counters that say how it runs.
        stalls: What warps waited for, as shares of their latency.
        unanswered: Questions that the profile does not answer.
        absent: Mechanisms that the kernel does not use.
        disputed: Where the profiler's own rules see what is not found here.
        in_trace: Null without a recording, or when the recording's step does not have it.
    """

    name: str
    names: tuple[str, ...]
    launches: Count
    grid: Shape | None
    block: Shape | None
    device: DeviceInfo | None
    duration_us: Us | None
    bound: str
    findings: tuple[KernelFinding, ...] = ()
    figures: tuple[Evidence, ...] = ()
    stalls: tuple[Evidence, ...] = ()
    unanswered: tuple[Unanswered, ...] = ()
    absent: tuple[str, ...] = ()
    disputed: tuple[str, ...] = ()
    in_trace: InTrace | None = None
