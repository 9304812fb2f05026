"""A figure against a bound: kept, broken, not proven either way, or not known."""

from __future__ import annotations

import msgspec
import pytest

from tailwave.gpu.verdicts.criteria import divided, quotient, times, within
from tailwave.model import Basis, Criterion, Health, Measurement, Status
from tests.measured import figure, without

LOST = without("b", Status.FAILED, "The GPU is gone.")


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (8.0, 9.0, Health.OK),
        (9.0, 11.0, Health.OK),  # the median is the bound, and keeps it
        (9.0, 11.1, Health.WARNING),
        (10.0, 11.0, Health.WARNING),
        (10.1, 11.0, Health.CRITICAL),
    ],
)
def test_an_upper_bound(low: float, high: float, expected: Health) -> None:
    """A median that keeps the bound is OK; only an interval wholly beyond it proves a breach."""
    measured = Measurement("a", Status.OK, value=(low + high) / 2, low=low, high=high)
    assert within("a", measured, most=10.0).health == expected


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (9.0, 12.0, Health.OK),
        (9.0, 11.0, Health.OK),
        (8.9, 11.0, Health.WARNING),
        (8.0, 9.9, Health.CRITICAL),
    ],
)
def test_a_lower_bound(low: float, high: float, expected: Health) -> None:
    """A lower bound is held the same way."""
    measured = Measurement("a", Status.OK, value=(low + high) / 2, low=low, high=high)
    assert within("a", measured, least=10.0).health == expected


def test_a_breach_is_as_bad_as_the_criterion_says() -> None:
    """A criterion chooses what a breach and what an open case is."""
    beyond, across = figure("a", 12.0), figure("a", 10.5, spread=0.1)
    breach, unproven = Health.WARNING, Health.OK
    assert within("a", beyond, most=10.0, breach=breach).health == Health.WARNING
    assert within("a", across, most=10.0, unproven=unproven).health == Health.OK


def test_what_a_criterion_keeps() -> None:
    """The figure with its unit, both bounds, and what they rest on."""
    held = within("x", figure("a", 5.0, "us"), least=1.0, most=10.0, basis=Basis.REFERENCE)
    assert held == Criterion(
        "x", Basis.REFERENCE, Health.OK, value=5.0, unit="us", least=1.0, most=10.0
    )


def test_a_figure_without_a_value_is_unknown_with_the_reason() -> None:
    """What could not be taken is neither healthy nor ill."""
    assert within("x", LOST, most=1.0) == Criterion(
        "x", Basis.ANY_GPU, Health.UNKNOWN, reason="The GPU is gone."
    )


def test_a_figure_without_an_interval_is_its_value() -> None:
    """A figure of one sample is held by its value."""
    assert within("a", Measurement("a", Status.OK, value=2.0), most=1.0).health == Health.CRITICAL


def test_the_interval_of_a_quotient_is_the_widest() -> None:
    """The least over the greatest to the greatest over the least."""
    quotient_of = divided(figure("a", 2.0, spread=0.5), figure("b", 4.0, spread=0.5))
    assert (quotient_of.value, *quotient_of.interval) == (0.5, 1 / 6, 1.5)
    assert quotient_of.unit == "x"


@pytest.mark.parametrize("pair", [(LOST, figure("a", 1.0)), (figure("a", 1.0), LOST)])
def test_a_quotient_needs_both(pair: tuple[Measurement, Measurement]) -> None:
    """Without one of the two the quotient is unknown, with its reason."""
    assert quotient("x", *pair, most=1.0).reason == "The GPU is gone."


def test_nothing_is_compared_with_nought() -> None:
    """A quotient by 0, or by what may be 0, is no figure."""
    for other in (figure("b", 0.0), figure("b", 1.0, spread=1.0)):
        assert divided(figure("a", 1.0), other).reason == (
            "b is not above 0, so nothing can be compared with it."
        )


def test_a_multiple_keeps_the_interval_in_proportion() -> None:
    """A multiple multiplies the value and both ends; what is not known stays so."""
    multiple = times(figure("a", 2.0, "us", spread=0.5), 100, "ns")
    assert (multiple.value, *multiple.interval, multiple.unit) == (200.0, 100.0, 300.0, "ns")
    assert times(LOST, 2) == LOST


def test_a_multiple_has_no_samples() -> None:
    """Those that there were are of another figure."""
    sampled = msgspec.structs.replace(figure("a", 2.0), samples=(1.9, 2.0, 2.1))
    assert times(sampled, 10).samples == ()
