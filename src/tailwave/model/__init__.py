"""The nouns of tailwave: what was recorded, and what was concluded from it.

Times are integers in nanoseconds on the trace's own clock. Tables are columns: one numpy array
per field, all of one length, the rows of a table sorted by start. What could not be read is -1,
never a silent 0. Nothing here imports another family of tailwave, but ``printable``, which asks the
reports above it when a noun is printed.
"""

from tailwave.model.arrays import Bytes, Flags, Floats, Ints, Shape, SmallInts
from tailwave.model.comparison import Comparison, Difference
from tailwave.model.diagnosis import Diagnosis, Share, Source, StepKernel, StepsSummary, StepTime
from tailwave.model.explanation import Explanation, Meaning, MeaningKind, Section
from tailwave.model.finding import Evidence, Finding, Severity
from tailwave.model.kernels import (
    Counter,
    InTrace,
    KernelDiagnosis,
    KernelFinding,
    KernelProfile,
    KernelProfiles,
    RuleKind,
    RuleResult,
    Unanswered,
)
from tailwave.model.measurement import (
    DeviceFacts,
    FigureKey,
    MeasuredFigure,
    Measurement,
    Parameters,
    Status,
    Table,
)
from tailwave.model.prediction import Prediction, Predictions
from tailwave.model.printable import Printable
from tailwave.model.recording import Recording
from tailwave.model.recording_comparison import (
    ComparedRecording,
    ComparedShare,
    ComparedWork,
    DifferencePart,
    MatchedKernels,
    RecordingComparison,
)
from tailwave.model.reference import Reference, ReferenceFigure
from tailwave.model.session import Basis, Criterion, Health, Session, Verdict
from tailwave.model.timeline import (
    DeviceInfo,
    GpuKind,
    GpuTable,
    HostKind,
    HostTable,
    Thread,
    Timeline,
    WaitTable,
)
from tailwave.model.trial import (
    Baseline,
    Decision,
    Effect,
    Mechanism,
    MetricInfo,
    Outcome,
    OutputMatch,
    Outputs,
    Quantile,
    Restored,
    Trial,
)

__all__ = [
    "Baseline",
    "Basis",
    "Bytes",
    "ComparedRecording",
    "ComparedShare",
    "ComparedWork",
    "Comparison",
    "Counter",
    "Criterion",
    "Decision",
    "DeviceFacts",
    "DeviceInfo",
    "Diagnosis",
    "Difference",
    "DifferencePart",
    "Effect",
    "Evidence",
    "Explanation",
    "FigureKey",
    "Finding",
    "Flags",
    "Floats",
    "GpuKind",
    "GpuTable",
    "Health",
    "HostKind",
    "HostTable",
    "InTrace",
    "Ints",
    "KernelDiagnosis",
    "KernelFinding",
    "KernelProfile",
    "KernelProfiles",
    "MatchedKernels",
    "Meaning",
    "MeaningKind",
    "MeasuredFigure",
    "Measurement",
    "Mechanism",
    "MetricInfo",
    "Outcome",
    "OutputMatch",
    "Outputs",
    "Parameters",
    "Prediction",
    "Predictions",
    "Printable",
    "Quantile",
    "Recording",
    "RecordingComparison",
    "Reference",
    "ReferenceFigure",
    "Restored",
    "RuleKind",
    "RuleResult",
    "Section",
    "Session",
    "Severity",
    "Shape",
    "Share",
    "SmallInts",
    "Source",
    "Status",
    "StepKernel",
    "StepTime",
    "StepsSummary",
    "Table",
    "Thread",
    "Timeline",
    "Trial",
    "Unanswered",
    "Verdict",
    "WaitTable",
]
