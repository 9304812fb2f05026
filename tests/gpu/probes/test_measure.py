"""The timing loop: when it stops, what it keeps, what becomes of refusals."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from tailwave.errors import TailwaveError
from tailwave.gpu.devices.base import (
    DeniedError,
    DeviceFailedError,
    DeviceLostError,
    NotSupportedError,
)
from tailwave.gpu.probes.measure import FULL, QUICK, Figure, Timer
from tailwave.model import Status
from tests.gpu.probes.fake import CLOCK_MHZ, TICK_NS, FakeDevice


@pytest.fixture
def device() -> FakeDevice:
    """A device of round numbers."""
    return FakeDevice()


@pytest.fixture
def bench(device: FakeDevice) -> Timer:
    """A thorough bench on it."""
    return Timer(device)


def series(*values: float) -> Callable[[], float]:
    """Return a sample that goes through the values again and again."""
    return itertools.cycle(values).__next__


def test_a_constant_figure_takes_the_fewest_samples(bench: Timer) -> None:
    """What does not vary is settled as soon as an interval may be trusted."""
    taken = bench.measure("a.b", "us", lambda: 3.0)
    assert (taken.value, taken.low, taken.high) == (3.0, 3.0, 3.0)
    assert len(taken.samples) == FULL.least


def test_a_quick_bench_is_content_with_less(device: FakeDevice) -> None:
    """Quick means fewer samples, by the same rules."""
    taken = Timer(device, quick=True).measure("a.b", "us", lambda: 3.0)
    assert len(taken.samples) == QUICK.least


def test_noise_is_sampled_until_it_no_longer_narrows(bench: Timer) -> None:
    """An interval that more samples do not narrow ends the sampling before the limit."""
    taken = bench.measure("a.b", "us", series(1.0, 2.0))
    assert len(taken.samples) == 40


def test_narrowing_noise_is_sampled_to_the_limit(bench: Timer) -> None:
    """While each doubling narrows the interval, only the most samples end it."""
    widths = (1 / (i + 1) * (-1) ** i for i in itertools.count())
    taken = bench.measure("a.b", "us", lambda: 1.0 + next(widths))
    assert len(taken.samples) == FULL.most


def test_slow_samples_end_by_time(bench: Timer, device: FakeDevice) -> None:
    """A figure whose samples take long gets the fewest that have an interval."""

    def slow() -> float:
        device.now += 1_000_000_000
        return 1.0

    assert len(bench.measure("a.b", "us", slow).samples) == 3


def test_past_the_deadline_figures_are_still_taken(device: FakeDevice) -> None:
    """A run that is late hurries; it does not stop."""
    late = Timer(device, deadline_ns=-1)
    taken = late.measure("a.b", "us", series(1.0, 2.0, 3.0))
    assert (taken.status, len(taken.samples)) == (Status.OK, 3)


def test_before_the_deadline_nothing_is_hurried(device: FakeDevice) -> None:
    """A run that is in time takes as many samples as one without a deadline."""
    early = Timer(device, deadline_ns=1_000_000_000_000)
    assert len(early.measure("a.b", "us", lambda: 3.0).samples) == FULL.least


def test_outliers_are_counted_and_kept(bench: Timer) -> None:
    """A sample far out stays among the samples."""
    taken = bench.measure("a.b", "us", series(1.0, 1.001, 1.002, 1.003, 1.004, 1.005, 9.0))
    assert taken.outliers == taken.samples.count(9.0) > 0


def test_by_products_do_not_prolong_sampling(bench: Timer) -> None:
    """Sampling waits for the figures that decide."""
    noise = series(1.0, 2.0)
    figures = [Figure("a.b", "us"), Figure("a.c", "us", decides=False)]
    one, other = bench.measure_together(figures, lambda: (1.0, noise()))
    assert len(one.samples) == len(other.samples) == FULL.least


def test_a_figure_carries_the_clock_it_was_taken_at(bench: Timer) -> None:
    """The effective clock is cycles over global time around the samples."""
    assert bench.measure("a.b", "us", lambda: 1.0).clock_mhz == CLOCK_MHZ


def test_the_bench_warms_up_until_the_clock_is_steady(device: FakeDevice) -> None:
    """While the clock still rises, nothing is sampled."""
    clocks = iter([300.0, 600.0, 1_200.0, 1_900.0])
    device.clock_mhz = 0.0

    class Rising(Timer):
        def clock_mhz(self) -> float:
            device.clock_mhz = next(clocks, 1_980.0)
            return super().clock_mhz()

    Rising(device).warm_up()
    assert next(clocks, None) is None


def test_the_bench_warms_up_once(device: FakeDevice) -> None:
    """Later figures read the clock before and after their samples, and no more."""
    spins = 0

    class Counting(Timer):
        def clock_mhz(self) -> float:
            nonlocal spins
            spins += 1
            return super().clock_mhz()

    bench = Counting(device)
    bench.warm_up()
    warm = spins
    bench.warm_up()
    assert spins == warm
    bench.measure("a.b", "us", lambda: 3.0)
    assert spins == warm + 2


def test_the_timer_step_is_measured(bench: Timer) -> None:
    """The tick is the least difference of successive readings."""
    assert bench.tick_ns == TICK_NS


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotSupportedError("It cannot."), Status.UNSUPPORTED),
        (DeniedError("You may not."), Status.DENIED),
        (DeviceFailedError("It broke."), Status.FAILED),
        (TailwaveError("It broke."), Status.FAILED),
    ],
)
def test_a_refusal_is_a_status_with_a_reason(
    bench: Timer, error: Exception, status: Status
) -> None:
    """What the device answers instead of a figure is kept; there is no value."""

    def refuse() -> float:
        raise error

    taken = bench.measure("a.b", "us", refuse, headline=True)
    assert (taken.status, taken.reason, taken.value) == (status, str(error), None)
    assert taken.headline


def test_a_lost_device_is_no_figure(bench: Timer) -> None:
    """The loss of the device goes to whoever runs the probes."""

    def lose() -> float:
        raise DeviceLostError("It fell off the bus.")

    with pytest.raises(DeviceLostError):
        bench.measure("a.b", "us", lose)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_figure_is_never_nan(bench: Timer, value: float) -> None:
    """A sample that is no number fails the figure."""
    taken = bench.measure("a.b", "us", lambda: value)
    assert (taken.status, taken.value) == (Status.FAILED, None)


def test_our_own_mistakes_are_not_hidden(bench: Timer) -> None:
    """What is no answer of a device is an error of ours."""

    def mistaken() -> float:
        raise KeyError("x")

    with pytest.raises(KeyError):
        bench.measure("a.b", "us", mistaken)
