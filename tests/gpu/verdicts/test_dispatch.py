"""The dispatch link: straight in CTAs, and even over SMs."""

from __future__ import annotations

import pytest

from tailwave.gpu.verdicts import dispatch
from tailwave.model import Health
from tests.gpu.verdicts.links import healths, words
from tests.measured import figure

STRAIGHT = "how straight the time of a grid is in its CTAs"
EVEN = "equal CTAs on the SM that ran fewest against the SM that ran most"


@pytest.mark.parametrize(
    ("r_squared", "expected"), [(1.0, Health.OK), (0.9992, Health.OK), (0.999, Health.WARNING)]
)
def test_dispatch_is_straight_in_ctas(r_squared: float, expected: Health) -> None:
    """A bend that a check can tell from straight is a warning."""
    found = healths(dispatch, figure("dispatch.linearity", r_squared, "R^2"))
    assert found == {STRAIGHT: expected}


@pytest.mark.parametrize(
    ("share", "expected"), [(1.0, Health.OK), (15 / 17, Health.OK), (0.88, Health.CRITICAL)]
)
def test_sms_run_equal_shares(share: float, expected: Health) -> None:
    """Of 16 equal CTAs an SM on average, an SM runs 15 at least where another runs 17."""
    found = healths(dispatch, figure("dispatch.fairness", share, "ratio"))
    assert found == {EVEN: expected}


def test_what_it_means() -> None:
    """The meaning is the cost of a million CTAs, and the shortest CTA worth having."""
    assert words(
        dispatch,
        figure("dispatch.ns_per_cta", 0.606, "ns"),
        figure("dispatch.fairness", 1.0, "ratio"),
        figure("dispatch.refill_gap", 700.0, "ns"),
    ) == (
        "a CTA 0.606 ns, slowest SM's share 100%, refill gap 700 ns",
        (
            "A grid of 1,000,000 CTAs costs 606 us before any work. "
            "An SM waits longer than it works on CTAs shorter than 700 ns."
        ),
    )
