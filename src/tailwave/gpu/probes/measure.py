"""The one timing loop that every figure goes through.

A figure is sampled until its 95% interval is narrow enough, until more samples stop narrowing it,
or until its share of samples or time is used. Every sample is kept: far-out ones are counted, not
dropped. The effective SM clock (cycles over global time in a spinning kernel) is read before and
after, so that a throttled figure shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

import msgspec
import numpy as np
from msgspec.structs import replace

from tailwave.errors import TailwaveError
from tailwave.gpu.devices.base import (
    DeniedError,
    Device,
    DeviceFailedError,
    DeviceLostError,
    NotSupportedError,
)
from tailwave.gpu.probes.bench import Bench
from tailwave.model import Floats, Measurement, Parameters, Status
from tailwave.stats import Summary, summarise

# What a device may answer instead of a figure. A lost device is among the TailwaveErrors, and is
# let through before them.
REFUSALS: Final = (NotSupportedError, DeniedError, TailwaveError)

_STEADY = 0.005  # readings of the clock that lie so close together are one clock
_STEADY_READINGS = 3
_WARM_UP_READINGS = 200
_TICKS = 64
# The spin is so long that a tick of the timer at either end is a thousandth of it.
_SPIN_TICKS = 1000
_SPIN_LEAST_NS = 20_000
# A sample count this much greater should narrow an interval to 0.71 of what it was; one that
# stays above 0.9 has reached what this machine's noise allows.
_CHECK_AGAIN = 2.0
_PLATEAU = 0.9
_PLATEAU_SAMPLES = 40
_FEWEST = 3


class Limits(msgspec.Struct, frozen=True):
    """How long one figure is sampled.

    ``target`` is the relative half-width of the interval to be reached, after ``least`` samples at
    the earliest; ``most`` samples and ``seconds`` end it in any case.
    """

    least: int
    most: int
    seconds: float
    target: float


FULL: Final = Limits(least=10, most=200, seconds=0.5, target=0.003)
QUICK: Final = Limits(least=5, most=40, seconds=0.1, target=0.01)
# Past the deadline of the whole run a figure is still taken, as cheaply as an interval allows.
_HURRIED: Final = Limits(least=_FEWEST, most=_FEWEST, seconds=0.0, target=1.0)


class Figure(msgspec.Struct, frozen=True):
    """What is to be measured: name, unit, and at which parameters; ``headline`` as in the model.

    ``decides`` is False for a by-product that sampling does not wait for.
    """

    name: str
    unit: str
    parameters: Parameters = msgspec.field(default_factory=dict)
    headline: bool = False
    decides: bool = True


class Timer(Bench):
    """Takes figures from one device.

    ``deadline_ns`` is a reading of the device's host clock; what is measured after it is measured
    with the fewest samples.
    """

    def __init__(
        self, device: Device, *, quick: bool = False, deadline_ns: int | None = None
    ) -> None:
        """Take a device; nothing runs on it before the first figure."""
        super().__init__(device)
        self.quick = quick
        self._limits = QUICK if quick else FULL
        self._deadline_ns = deadline_ns
        self._warm = False

    def measure(
        self,
        name: str,
        unit: str,
        sample: Callable[[], float],
        *,
        parameters: Parameters | None = None,
        headline: bool = False,
    ) -> Measurement:
        """Take one figure: ``sample`` takes it once, in ``unit``.

        A refusal of the device becomes the measurement's status and reason. Raises DeviceLostError.
        """
        figure = Figure(name, unit, parameters or {}, headline)
        return self.measure_together([figure], lambda: (sample(),))[0]

    def measure_together(
        self,
        figures: Sequence[Figure],
        sample: Callable[[], Sequence[float]],
        *,
        first_use: Callable[[], object] | None = None,
        most: int | None = None,
    ) -> list[Measurement]:
        """Take several figures of which each sample gives one value; otherwise as ``measure``.

        ``first_use`` makes what is made on first use, where a whole sample would take long;
        ``most`` is the most samples, where each is many runs.
        """
        try:
            self.warm_up()
            (first_use or sample)()
            before = self.clock_mhz()
            columns = self._collect(figures, sample, most)
            clock = (before + self.clock_mhz()) / 2
        except DeviceLostError:
            raise
        except REFUSALS as error:
            return [self.refused(figure, error) for figure in figures]
        return [self.summed_up(f, c, clock) for f, c in zip(figures, columns, strict=True)]

    def quantiles(
        self,
        figure: Figure,
        sample: Callable[[], Sequence[float] | Floats],
        *,
        first_use: Callable[[], object] | None = None,
        most: int | None = None,
    ) -> list[Measurement]:
        """Take the ``quantile`` p50 and p99 of a figure: a sample is many runs; else as above."""
        figures = [
            replace(figure, parameters={"quantile": quantile, **figure.parameters})
            for quantile in ("p50", "p99")
        ]

        def both() -> tuple[float, float]:
            runs = sample()
            return float(np.percentile(runs, 50)), float(np.percentile(runs, 99))

        return self.measure_together(figures, both, first_use=first_use, most=most)

    def summed_up(
        self, figure: Figure, samples: Sequence[float], clock_mhz: float | None = None
    ) -> Measurement:
        """Make a measurement of samples already taken; FAILED when one is not finite."""
        if not samples or not np.isfinite(samples).all():
            what = "no sample was taken" if not samples else "a sample was no finite number"
            return self.refused(figure, DeviceFailedError(f"{figure.name}: {what}."))
        summary = summarise(samples)
        return Measurement(
            name=figure.name,
            status=Status.OK,
            unit=figure.unit,
            value=summary.median,
            low=summary.low,
            high=summary.high,
            samples=tuple(float(value) for value in samples),
            parameters=figure.parameters,
            clock_mhz=clock_mhz,
            outliers=summary.outliers,
            simulated=self.device.facts.simulated,
            headline=figure.headline,
        )

    def refused(self, figure: Figure, error: Exception) -> Measurement:
        """Make the measurement that says why there is no figure."""
        return Measurement(
            name=figure.name,
            status=_status(error),
            unit=figure.unit,
            parameters=figure.parameters,
            simulated=self.device.facts.simulated,
            headline=figure.headline,
            reason=str(error),
        )

    def warm_up(self) -> None:
        """Keep the device busy until its clock is steady; once.

        A clock that never settles is no failure: each figure says at which clock it was taken.
        """
        if self._warm:
            return
        readings: list[float] = []
        for _ in range(_WARM_UP_READINGS):
            readings.append(self.clock_mhz())
            last = readings[-_STEADY_READINGS:]
            if len(last) == _STEADY_READINGS and max(last) - min(last) <= _STEADY * max(last):
                break
        self._warm = True

    def clock_mhz(self) -> float:
        """Read the effective SM clock: cycles over global time of one spinning CTA."""
        spin_ns = max(_SPIN_LEAST_NS, round(_SPIN_TICKS * self.tick_ns))
        _, start, end, cycles = map(int, self.output(4, "spin", 1, 32, spin_ns))
        if end <= start or cycles == 0:
            raise DeviceFailedError("The global timer did not advance while a kernel ran.")
        return cycles / (end - start) * 1000

    @cached_property
    def tick_ns(self) -> float:
        """The step of the global timer (ns), measured once.

        Reading takes longer than a short step, so not every step is seen: it is what divides all
        differences, or the least of them where nothing does.
        """
        steps = np.diff(self.output(_TICKS, "tick", 1, 32, _TICKS).astype(np.int64))
        if steps.min() <= 0:
            raise DeviceFailedError("The global timer ran backwards or stood still.")
        grid = int(np.gcd.reduce(steps))
        return float(grid if grid > 1 else steps.min())

    def _collect(
        self,
        figures: Sequence[Figure],
        sample: Callable[[], Sequence[float]],
        most: int | None,
    ) -> list[list[float]]:
        """Sample until the limits are met; returns the samples of each figure."""
        start = self.device.clock_ns()
        late = self._deadline_ns is not None and start > self._deadline_ns
        limits = _HURRIED if late else self._limits
        stop = _Stop(limits, min(limits.most, most or limits.most))
        columns: list[list[float]] = [[] for _ in figures]
        deciding = [c for c, figure in zip(columns, figures, strict=True) if figure.decides]
        while True:
            for column, value in zip(columns, sample(), strict=True):
                column.append(float(value))
            if stop.now(deciding, (self.device.clock_ns() - start) / 1e9):
                return columns


class _Stop:
    """Decides when a figure has been sampled enough."""

    def __init__(self, limits: Limits, most: int) -> None:
        """Begin with no sample taken."""
        self._limits = limits
        self._most = most
        self._next_check = limits.least
        self._spread = math.inf

    def now(self, columns: Sequence[Sequence[float]], seconds: float) -> bool:
        """Tell whether to stop, given the samples so far and the time they took."""
        count = len(columns[0])
        if count >= self._most:
            return True
        if count >= _FEWEST and seconds >= self._limits.seconds:
            return True
        if count < self._next_check:
            return False
        self._next_check = math.ceil(count * _CHECK_AGAIN)
        before, self._spread = self._spread, max(_spread(column) for column in columns)
        plateau = count >= _PLATEAU_SAMPLES and self._spread > _PLATEAU * before
        return self._spread <= self._limits.target or plateau


def _spread(samples: Sequence[float]) -> float:
    """Return the relative half-width of the interval; 0 for what cannot be summarised."""
    if not np.isfinite(samples).all():
        return 0.0
    summary: Summary = summarise(samples)
    return summary.relative_spread


def _status(error: Exception) -> Status:
    if isinstance(error, NotSupportedError):
        return Status.UNSUPPORTED
    return Status.DENIED if isinstance(error, DeniedError) else Status.FAILED
