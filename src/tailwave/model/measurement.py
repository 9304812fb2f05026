"""What a check measured, and of which GPU."""

from __future__ import annotations

import enum
from typing import TypeAlias

import msgspec

from tailwave.model.values import Count, CountOrUnknown, TextOrUnknown

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


class MeasuredFigure(msgspec.Struct, frozen=True):
    """One figure that a probe took, and how sure it is.

    Attributes:
        name: ``probe.figure``: ``launch.graph_node``.
        status: What became of it; only "ok" carries figures.
        unit: Of value, low and high.
        value: The median of the samples; null where there is none, with the reason.
        low: Of the median's 95% confidence interval.
        high: Of the same.
        parameters: What it was taken at.
        clock_mhz: The effective SM clock while it was taken.
        outliers: Samples that lie far outside the rest; they are kept.
        simulated: Whether it comes from no real device.
        headline: Whether verdicts and comparisons look at it.
        reason: Why there is no value.
    """

    name: str
    status: Status
    unit: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    parameters: Parameters = msgspec.field(default_factory=dict)
    clock_mhz: float | None = None
    outliers: Count = 0
    simulated: bool = False
    headline: bool = False
    reason: TextOrUnknown = ""


class Measurement(MeasuredFigure, frozen=True):
    """A figure with the samples that it rests on, in its unit."""

    samples: tuple[float, ...] = ()

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
    """What a device is: fixed properties, and the software that drives it.

    Attributes:
        name: As the driver says it.
        backend: How it was reached: cuda, sim ...
        uuid: Tells it from others of its model.
        sm_count: Its SMs.
        compute_major: Of its compute capability.
        compute_minor: Of its compute capability.
        clock_mhz_max: The highest SM clock.
        l2_bytes: Of L2.
        memory_bytes: Of its own memory.
        shared_per_sm: Bytes of shared memory.
        shared_per_block_optin: Bytes of shared memory that a CTA can ask for.
        max_threads_per_sm: Threads that an SM holds at once.
        driver: Its version.
        runtime: Version of the backend's library.
        simulated: Whether it is no real device.
    """

    name: str
    backend: str
    uuid: TextOrUnknown = ""
    sm_count: CountOrUnknown = 0
    compute_major: CountOrUnknown = 0
    compute_minor: int = 0
    clock_mhz_max: CountOrUnknown = 0
    l2_bytes: CountOrUnknown = 0
    memory_bytes: CountOrUnknown = 0
    shared_per_sm: CountOrUnknown = 0
    shared_per_block_optin: CountOrUnknown = 0
    max_threads_per_sm: CountOrUnknown = 0
    driver: TextOrUnknown = ""
    runtime: TextOrUnknown = ""
    simulated: bool = False
