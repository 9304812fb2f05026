"""How a kernel's counters are asked for, where a file has few of them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tailwave.model import Counter
from tailwave.profiles.rules.base import least
from tailwave.profiles.rules.kernel import Kernel, MissingCounterError
from tests.profiles.rules.profiles import made


def test_reasons_that_a_version_lacks_do_not_make_a_sum_unknown() -> None:
    """Counted stalls are all that there are."""
    assert Kernel(made(stalls={"barrier": 0.5})).stall("barrier", "sleeping") == 0.5


def test_the_ready_part_of_the_latency_from_eligible_warps() -> None:
    """A fifth of the warps could issue, so 0.6 of the latency is three quarters of the stalled."""
    profile = made(stalls={"barrier": 0.6})
    ready = {
        "smsp__warps_eligible.avg.per_cycle_active": Counter(2.0),
        "smsp__warps_active.avg.per_cycle_active": Counter(10.0),
    }
    kernel = Kernel(replace(profile, counters={**profile.counters, **ready}))
    assert kernel.waited("barrier") == pytest.approx(0.8 * 0.75)
    assert Kernel(profile).waited("barrier") == pytest.approx(0.8 * 0.6)


def test_waiting_is_no_more_than_other_reasons_leave() -> None:
    """Schedulers idle for 80%, of the latency 0.6 is known to be barriers."""
    kernel = Kernel(made(stalls={"barrier": 0.6}))
    assert kernel.waited_at_most("membar") == pytest.approx(0.8 * 0.4)
    assert kernel.waited_at_most("barrier") == pytest.approx(0.8)


def test_the_finer_of_two_spellings_says_how_often_schedulers_issue() -> None:
    """0.04 of a cycle is 3.54% in the same details page."""
    rounded = {"smsp__issue_active.avg.per_cycle_active": 0.04}
    percent = {"smsp__issue_active.avg.pct_of_peak_sustained_active": 3.54}
    assert Kernel(made(rounded)).issuing == 0.04
    assert Kernel(made({**rounded, **percent})).issuing == pytest.approx(0.0354)


def test_the_least_of_bounds_that_can_be_told() -> None:
    """A bound whose counter is missing bounds nothing; without any, the first one is missing."""
    kernel = Kernel(made())
    assert least(lambda: kernel.need("x"), lambda: 0.5, lambda: 0.3) == 0.3
    with pytest.raises(MissingCounterError) as caught:
        least(lambda: kernel.need("x"), lambda: kernel.need("y"))
    assert caught.value.names == ("x",)


def test_a_damaged_counter_makes_no_negative_part() -> None:
    """Of the time in which schedulers issued, or SMs worked."""
    counters = {"smsp__issue_active.avg.per_cycle_active": -0.5, "sm__cycles_active.avg": -9.0}
    kernel = Kernel(made(counters))
    assert (kernel.issuing, kernel.working) == (0.0, 0.0)
