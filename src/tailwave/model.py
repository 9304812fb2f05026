"""The nouns of tailwave: what was recorded, and what was concluded from it.

Times are integers in nanoseconds on the trace's own clock. Tables are columns: one numpy array
per field, all of one length, the rows of a table sorted by start. What could not be read is -1,
never a silent 0. Nothing here imports another module of tailwave.
"""

from __future__ import annotations

import enum
from typing import TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]
SmallInts: TypeAlias = npt.NDArray[np.int32]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]


class HostKind(enum.IntEnum):
    """What a row of the host table is."""

    OPERATOR = 0  # a framework operator (Kineto's cpu_op)
    RUNTIME = 1  # a call of the CUDA or HIP runtime or driver
    PYTHON = 2  # a Python frame (python_function, with_stack=True)
    ANNOTATION = 3  # record_function, NVTX, ProfilerStep#n


class GpuKind(enum.IntEnum):
    """What a row of the GPU table is."""

    KERNEL = 0
    MEMCPY = 1
    MEMSET = 2


class Thread(msgspec.Struct, frozen=True):
    """One host thread: the process and thread ids as the recorder wrote them, and its name."""

    pid: str
    tid: str
    name: str = ""


class DeviceInfo(msgspec.Struct, frozen=True):
    """A GPU's fixed properties, as the recorder wrote them; 0 where it did not.

    Shared memory is in bytes, registers are 32-bit registers.
    """

    index: int
    name: str = ""
    sm_count: int = 0
    compute_major: int = 0
    compute_minor: int = 0
    warp_size: int = 32
    max_threads_per_sm: int = 0
    registers_per_sm: int = 0
    shared_per_sm: int = 0
    shared_per_block_optin: int = 0


class HostTable(msgspec.Struct, frozen=True):
    """What host threads did: one row per operator, runtime call, Python frame or annotation.

    Rows are sorted by start, the enclosing row before the enclosed one.
    """

    start: Ints  # ns
    end: Ints  # ns
    name: SmallInts  # index into Timeline.names
    kind: Bytes  # HostKind
    thread: SmallInts  # index into Timeline.threads
    correlation: Ints  # links a runtime call to GPU rows; -1 for none

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.start)


class GpuTable(msgspec.Struct, frozen=True):
    """What the GPUs did: one row per kernel, copy or memset, sorted by start."""

    start: Ints  # ns
    end: Ints  # ns
    name: SmallInts  # index into Timeline.names
    kind: Bytes  # GpuKind
    device: SmallInts  # the recorder's device index
    stream: Ints  # the recorder's stream id, unique within a device
    correlation: Ints  # the runtime call that launched the row; -1 for none
    launch: Ints  # row of the host table that launched it; -1 if that call is not recorded
    grid: Ints  # CTAs in the grid, x * y * z; -1 if unknown
    block: SmallInts  # threads in a CTA; -1 if unknown
    registers: SmallInts  # registers per thread; -1 if unknown
    shared: Ints  # static and dynamic shared memory per CTA, bytes; -1 if unknown
    bytes: Ints  # bytes moved by a copy or memset; -1 if unknown
    graph_node: Ints  # CUDA-graph node id; -1 when not launched by a graph, or not recorded

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.start)


class WaitTable(msgspec.Struct, frozen=True):
    """Dependencies that the recorder saw (Kineto's cuda_sync): who waited for which stream."""

    start: Ints  # ns
    end: Ints  # ns
    name: SmallInts  # "Stream Wait Event", "Event Sync", "Stream Sync", "Context Sync"
    device: SmallInts
    stream: Ints  # the waiting stream; -1 when the host waits
    source_stream: Ints  # the stream waited for; -1 if unknown
    correlation: Ints  # the runtime call that asked for the wait
    record_correlation: Ints  # the call that recorded the event waited for; -1 if unknown

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.start)


class Timeline(msgspec.Struct, frozen=True):
    """One rank's recording: what its host threads and its GPUs did, in columns.

    ``recorded_from`` and ``recorded_to`` bound the recorder's own window (ns), or are both 0
    when the recorder did not say. ``notes`` holds what the reader had to leave out or repair.
    """

    names: tuple[str, ...]
    threads: tuple[Thread, ...]
    devices: tuple[DeviceInfo, ...]
    host: HostTable
    gpu: GpuTable
    waits: WaitTable
    kind: str  # the recorder: "kineto", "nsys", "record", "sim"
    path: str
    rank: int = 0
    world_size: int = 1
    events: int = 0  # events read from the file
    recorded_from: int = 0
    recorded_to: int = 0
    notes: tuple[str, ...] = ()


class Severity(enum.StrEnum):
    """How much a finding costs, from least to most."""

    INFO = "info"
    MINOR = "minor"
    MAJOR = "major"
    CRITICAL = "critical"


class Evidence(msgspec.Struct, frozen=True):
    """One figure or one observation behind a claim; ``value`` is None for a plain statement."""

    what: str
    value: float | None = None
    unit: str = ""


class Finding(msgspec.Struct, frozen=True):
    """One cause of lost time: the claim, what it costs per step, and what cures it.

    Times are microseconds per step: ``step_us_now`` as things are, ``step_us_after`` with the
    cause cured, ``recoverable_us`` the difference.
    """

    code: str
    severity: Severity
    title: str
    claim: str
    step_us_now: float
    step_us_after: float
    recoverable_us: float
    evidence: tuple[Evidence, ...] = ()
    remedies: tuple[str, ...] = ()


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


class Prediction(msgspec.Struct, frozen=True):
    """What one or several what-ifs would bring; times are microseconds per step.

    ``notes`` says what the change assumed, or refused to change.
    """

    names: tuple[str, ...]
    question: str
    step_us_now: float
    step_us_after: float
    notes: tuple[str, ...] = ()

    @property
    def recoverable_us(self) -> float:
        """Time saved a step; negative when the change costs time."""
        return self.step_us_now - self.step_us_after


class Predictions(msgspec.Struct, frozen=True):
    """Everything that ``tailwave whatif`` says about one recording, ready to be rendered.

    ``step_us_now`` is the likely time without the profiler, between ``step_us_low`` and
    ``step_us_high``. ``combined`` is the best combination, where combinations were tried.
    """

    source: Source
    device: DeviceInfo | None
    steps: StepsSummary
    step_us_now: float
    step_us_low: float
    step_us_high: float
    answers: tuple[Prediction, ...]
    combined: Prediction | None
    notes: tuple[str, ...]


Parameters: TypeAlias = dict[str, float | int | str]
FigureKey: TypeAlias = tuple[object, ...]


def _figure_key(name: str, parameters: Parameters) -> FigureKey:
    return (name, *sorted(parameters.items()))


class Status(enum.StrEnum):
    """What became of a measurement; only ``OK`` carries figures."""

    OK = "ok"
    UNSUPPORTED = "unsupported"  # this device, driver or mode cannot do it
    DENIED = "denied"  # it can, but not for this user or in this container
    FAILED = "failed"  # it was tried and went wrong


class Measurement(msgspec.Struct, frozen=True):
    """One figure that a probe took, with all it rests on.

    ``name`` is ``probe.figure`` (``launch.graph_node``), ``parameters`` what it was taken at.
    ``value`` is the median of ``samples`` and ``low`` to ``high`` its 95% confidence interval, all
    in ``unit``; where the status is not OK they are None and ``reason`` says why. ``clock_mhz`` is
    the effective SM clock while it was taken, ``outliers`` how many samples lie far outside the
    rest (they are kept). ``simulated`` figures come from no real device. ``headline`` figures are
    those that a verdict or a comparison looks at.
    """

    name: str
    status: Status
    unit: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    samples: tuple[float, ...] = ()
    parameters: Parameters = msgspec.field(default_factory=dict)
    clock_mhz: float | None = None
    outliers: int = 0
    simulated: bool = False
    headline: bool = False
    reason: str = ""

    @property
    def key(self) -> FigureKey:
        """What measurements of the same figure have in common."""
        return _figure_key(self.name, self.parameters)

    @property
    def interval(self) -> tuple[float, float]:
        """The confidence interval, or the value alone; ValueError without a value."""
        if self.value is None:
            raise ValueError(f"{self.name} has no value")
        low = self.value if self.low is None else self.low
        high = self.value if self.high is None else self.high
        return low, high


class Table(msgspec.Struct, frozen=True):
    """A measured map that is no single figure: SM x line latencies, SM to TPC and GPC.

    ``values`` has ``len(columns)`` entries a row; rows and columns are labelled in ``rows`` and
    ``columns``. NaN is written as None.
    """

    name: str
    unit: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    simulated: bool = False


class DeviceFacts(msgspec.Struct, frozen=True):
    """What a device is: fixed properties, and the software that drives it. "" or 0 if unknown."""

    name: str
    backend: str  # "cuda", "sim", ...
    uuid: str = ""
    sm_count: int = 0
    compute_major: int = 0
    compute_minor: int = 0
    clock_mhz_max: int = 0
    l2_bytes: int = 0
    memory_bytes: int = 0
    shared_per_sm: int = 0
    shared_per_block_optin: int = 0
    max_threads_per_sm: int = 0
    driver: str = ""
    runtime: str = ""
    simulated: bool = False


class Health(enum.StrEnum):
    """A verdict in the words of monitoring plug-ins."""

    OK = "ok"
    WARNING = "warning"
    CRITICAL = "critical"
    UNKNOWN = "unknown"


class Basis(enum.StrEnum):
    """What the bound of a criterion rests on."""

    ANY_GPU = "any-gpu"  # physics: it holds on whatever GPU
    REFERENCE = "reference"  # what GPUs of this model were measured at before


class Criterion(msgspec.Struct, frozen=True):
    """One figure held against one bound, and what came of it.

    The figure is healthy from ``least`` to ``most``, both in ``unit``; None is no bound on that
    side. ``value`` is None, and ``reason`` says why, where there is no figure to judge.
    """

    what: str
    basis: Basis
    health: Health
    value: float | None = None
    unit: str = ""
    least: float | None = None
    most: float | None = None
    reason: str = ""


class Verdict(msgspec.Struct, frozen=True):
    """What one link of the scheduling chain's figures say, and what that means for work on it."""

    link: str  # "launch", "dispatch", "issue", "fabric", "l2", "copy", "isolation"
    health: Health
    claim: str
    meaning: str
    criteria: tuple[Criterion, ...] = ()


class Session(msgspec.Struct, frozen=True):
    """One run of a command, whole: the saved format (JSON with a schema number).

    ``health`` is the verdict on the whole. ``reference`` says in words what the verdicts compared
    the device with, "" for nothing; ``cut_short`` is the sentence that says why the run ended
    early, "" when it did not.
    """

    schema: int
    tool_version: str
    command: str
    started: str  # ISO 8601, UTC
    seconds: float
    device: DeviceFacts | None
    measurements: tuple[Measurement, ...] = ()
    tables: tuple[Table, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    health: Health = Health.UNKNOWN
    reference: str = ""
    cut_short: str = ""
    notes: tuple[str, ...] = ()


class ReferenceFigure(msgspec.Struct, frozen=True):
    """One headline figure as the runs behind a reference gave it, in ``unit``.

    ``values`` holds each run's median; ``low`` to ``high`` spans the runs' intervals.
    """

    name: str
    unit: str
    values: tuple[float, ...]
    low: float
    high: float
    parameters: Parameters = msgspec.field(default_factory=dict)

    @property
    def key(self) -> FigureKey:
        """What it has in common with measurements of the same figure."""
        return _figure_key(self.name, self.parameters)


class Reference(msgspec.Struct, frozen=True):
    """What one model of GPU was measured at in several runs (JSON with a schema number).

    Figures that the host has its part in hold for hosts as fast as the one measured; ``drivers``
    and ``started`` say under which drivers and when that was.
    """

    schema: int
    device: str
    sm_count: int
    simulated: bool
    runs: int
    drivers: tuple[str, ...]
    started: tuple[str, ...]  # ISO 8601, UTC, of each run
    figures: tuple[ReferenceFigure, ...]


class Difference(msgspec.Struct, frozen=True):
    """A headline figure of two sessions whose intervals do not meet.

    ``change`` is the second value over the first, less 1. ``worse`` is None for a figure of which
    neither more nor less is better. ``decides`` says what the figure decides for work on the GPU.
    """

    what: str
    before: Measurement
    after: Measurement
    change: float | None  # None when the first is 0
    worse: bool | None
    decides: str


class Comparison(msgspec.Struct, frozen=True):
    """Two sessions, figure by figure: what differs (worst first), what agrees, what only one has.

    ``small`` differences are below what two checks of one GPU differ by; ``missing`` names the
    figures that only one of the sessions has, with the reason.
    """

    before: Session
    after: Session
    differences: tuple[Difference, ...]
    small: tuple[Difference, ...]
    alike: int
    missing: tuple[str, ...]


class Decision(enum.StrEnum):
    """What a trial decided about a remedy."""

    KEPT = "kept"
    NO_GAIN = "no gain"
    HARMFUL = "harmful"
    NOT_APPLICABLE = "not applicable"


class Quantile(enum.StrEnum):
    """Which part of a run's samples a figure stands for."""

    MEDIAN = "p50"
    TAIL = "p99"  # of what is better small; of what is better large, the 1st percentile


class Effect(msgspec.Struct, frozen=True):
    """One quantile of the metric with the program as it is, and with something changed.

    ``before`` and ``after`` are geometric means over the rounds, in ``unit``. ``change`` is after
    over before, less 1, so a time of which it is -0.5 is halved; ``low`` to ``high`` is its 95%
    confidence interval, of all of a trial's candidates and looks together. It is None of one round.
    """

    quantile: Quantile
    before: float
    after: float
    unit: str
    change: float
    low: float | None
    high: float | None


class OutputMatch(enum.StrEnum):
    """How the outputs that a program exposes compare with those of the program as it is."""

    EQUAL = "equal"
    CLOSE = "within tolerance"
    DIFFER = "differ"
    NOT_COMPARABLE = "not comparable"  # they differ from run to run of the program as it is
    NOT_EXPOSED = "not exposed"


class Outcome(msgspec.Struct, frozen=True):
    """What became of one remedy in a trial.

    ``remedy`` is its name, with ``:parameter`` where it has one. ``bound`` is the share of the
    metric that the diagnosis says a cure can save at most, stated before the remedy was applied;
    None where no diagnosis says it. ``seen`` says whether its mechanism was at work, None where
    nothing tells, and ``mechanism`` how one knows. ``lines`` are what a user adds to keep it.
    """

    remedy: str
    label: str
    decision: Decision
    why: str
    effects: tuple[Effect, ...] = ()
    rounds: int = 0
    bound: float | None = None
    seen: bool | None = None
    mechanism: str = ""
    outputs: OutputMatch = OutputMatch.NOT_EXPOSED
    outputs_detail: str = ""
    lines: tuple[str, ...] = ()


class Restored(msgspec.Struct, frozen=True):
    """The program as it is, measured once more after all rounds.

    It agrees with the runs before from ``low`` to ``high``, all in the metric's unit.
    """

    value: float
    low: float
    high: float

    @property
    def agrees(self) -> bool:
        """Tell whether the machine still is what it was."""
        return self.low <= self.value <= self.high


class Baseline(msgspec.Struct, frozen=True):
    """The program as it is: the metric over all rounds, and how many samples a run gave.

    ``tail`` is None where a run gives too few samples for it.
    """

    median: float
    tail: float | None
    samples: int


class Trial(msgspec.Struct, frozen=True):
    """One trial of remedies on a program, whole.

    ``metric`` says in words what was measured, in ``unit``; ``rounds`` how many were completed:
    fewer than were allowed where all was decided before.
    ``null`` is a second unchanged run in each round, treated as a remedy is: what is seen there is
    noise. ``cut_short`` is the sentence that says why the trial ended early, "" when it did not.
    """

    schema: int
    tool_version: str
    command: tuple[str, ...]
    started: str  # ISO 8601, UTC
    seconds: float
    gpu: str
    driver: str
    metric: str = ""
    unit: str = ""
    higher_is_better: bool = False
    rounds: int = 0
    baseline: Baseline | None = None
    null: tuple[Effect, ...] = ()
    restored: Restored | None = None
    outcomes: tuple[Outcome, ...] = ()
    diagnosis: Diagnosis | None = None
    cut_short: str = ""
    notes: tuple[str, ...] = ()


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


Shape: TypeAlias = tuple[int, int, int]


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

    ``share`` is the part of the kernel's time (0 to 1) that a cure brings back at most. ``metrics``
    are the counters that it rests on, ``theirs`` what the profiler's own rules say of the same, in
    sentences. ``by`` says whose figure ``share`` is: "tailwave", or "ncu" where the counters for
    tailwave's own are missing and the profiler's rule has an estimate.
    """

    code: str
    severity: Severity
    title: str
    claim: str
    share: float
    evidence: tuple[Evidence, ...] = ()
    metrics: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()
    by: str = "tailwave"


class Unanswered(msgspec.Struct, frozen=True):
    """A question that a profile does not answer, and the counters of which one is missing.

    A finding of the same code may stand beside it, by the profiler's word.
    """

    code: str
    question: str
    metrics: tuple[str, ...]


class InTrace(msgspec.Struct, frozen=True):
    """A profiled kernel's place in a recording: how often and how long it runs in a step.

    ``matched_by`` says in words what ties it to the recording's kernels.
    """

    calls: int
    step_us: float  # of the step's kernel time
    step_share: float  # of the step, 0 to 1
    matched_by: str


class KernelDiagnosis(msgspec.Struct, frozen=True):
    """Everything that is said of one profiled kernel: alike launches are one kernel.

    ``names`` holds every spelling of its name. Of several launches the one of median duration is
    shown. ``bound`` says what limits it. ``findings`` are sorted by ``share``, greatest first.
    ``figures`` are the counters that say how it runs, ``stalls`` the reasons that warps waited for,
    as shares of their latency. ``absent`` names mechanisms that the kernel does not use;
    ``disputed`` says where the profiler's own rules see what is not found here.
    """

    name: str
    names: tuple[str, ...]
    launches: int
    grid: Shape | None
    block: Shape | None
    device: DeviceInfo | None
    duration_us: float | None
    bound: str
    findings: tuple[KernelFinding, ...] = ()
    figures: tuple[Evidence, ...] = ()
    stalls: tuple[Evidence, ...] = ()
    unanswered: tuple[Unanswered, ...] = ()
    absent: tuple[str, ...] = ()
    disputed: tuple[str, ...] = ()
    in_trace: InTrace | None = None
