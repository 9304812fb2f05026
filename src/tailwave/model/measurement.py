"""What a check measured, and of which GPU."""

from __future__ import annotations

import enum
from typing import TypeAlias

import msgspec

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
