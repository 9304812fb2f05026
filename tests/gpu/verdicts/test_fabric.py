"""The fabric link: more SMs carry more, by the ports they share, and none is starved."""

from __future__ import annotations

import msgspec
import pytest

from tailwave.gpu.verdicts import fabric
from tailwave.model import Health, Measurement
from tests.gpu.verdicts.links import healths, words
from tests.measured import figure


def speedups(tpc: float, gpc: float, chip: float) -> list[Measurement]:
    """Bandwidths in SMs, reading."""
    sizes = (("tpc", tpc, 2), ("gpc", gpc, 16), ("chip", chip, 132))
    return [figure(f"fabric.speedup_{n}", v, "ratio", op="read", sms=s) for n, v, s in sizes]


def latency(value: float, where: str, aggressors: int, quantile: str = "p99") -> Measurement:
    """The latency of a read beside so many aggressors."""
    parameters = {"where": where, "aggressors": aggressors, "quantile": quantile}
    plain = figure("fabric.loaded_latency", value, "clk")
    return msgspec.structs.replace(plain, parameters=parameters, clock_mhz=2000.0)


@pytest.mark.parametrize(
    ("bandwidths", "expected"),
    [
        ((1.95, 7.75, 60.0), (Health.OK, Health.OK, Health.OK)),
        ((1.0, 1.0, 1.0), (Health.OK, Health.OK, Health.OK)),
        ((0.9, 7.75, 60.0), (Health.CRITICAL, Health.OK, Health.OK)),
        ((1.95, 1.9, 60.0), (Health.OK, Health.CRITICAL, Health.OK)),
        ((1.95, 7.75, 7.0), (Health.OK, Health.OK, Health.CRITICAL)),
    ],
)
def test_more_sms_carry_no_less(
    bandwidths: tuple[float, float, float], expected: tuple[Health, ...]
) -> None:
    """A TPC carries no less than an SM, a GPC than a TPC, the chip than a GPC."""
    assert tuple(healths(fabric, *speedups(*bandwidths)).values()) == expected


SIZES = (
    figure("topology.smallest_gpc", 16.0, "SMs"),
    figure("topology.largest_gpc", 18.0, "SMs"),
)
WAYS = msgspec.structs.replace(figure("l2.latency_mean", 300.0), samples=(285.0, 300.0, 310.0))


@pytest.mark.parametrize(("share", "expected"), [(0.793, Health.OK), (0.792, Health.WARNING)])
def test_sms_get_what_their_gpc_and_their_way_leave_them(share: float, expected: Health) -> None:
    """The slowest SM gets 16/18 of the fastest for its port, and 285/310 for its way to L2."""
    found = healths(fabric, *SIZES, WAYS, figure("fabric.fairness", share, "ratio"))
    assert found == {"the slowest SM against the fastest, all reading": expected}


@pytest.mark.parametrize("known", [(), SIZES, (WAYS,), (*SIZES, figure("l2.latency_mean", 300.0))])
def test_fairness_needs_the_die_and_its_latencies(known: tuple[Measurement, ...]) -> None:
    """Without the map or the latencies there is no bound, and so no word on it."""
    assert healths(fabric, *known, figure("fabric.fairness", 0.5, "ratio")) == {}


@pytest.mark.parametrize(("loaded", "expected"), [(4500.0, Health.OK), (4501.0, Health.CRITICAL)])
def test_a_loaded_read_waits_for_one_of_each_other(loaded: float, expected: Health) -> None:
    """Beside 14 readers a read takes at most 15 times as long as alone."""
    found = healths(fabric, latency(300.0, "nowhere", 0), latency(loaded, "same_gpc", 14))
    assert found == {"a read beside 14 busy SMs (in its GPC) against one alone, p99": expected}


# What the same probe took at other parameters, before the figures that a test is about.
OTHERS = (
    figure("fabric.single_sm", 32.0, "B/clk", op="write"),
    *(
        figure(f"fabric.speedup_{name}", 1.5, "ratio", op="write", sms=2)
        for name in ("tpc", "gpc", "chip")
    ),
    *(
        msgspec.structs.replace(latency(777.0, where, aggressors, quantile), headline=headline)
        for where, aggressors, quantile, headline in (
            ("other_gpcs", 4, "p50", False),
            ("other_gpcs", 116, "p99", True),
            ("nowhere", 0, "p99", True),
        )
    ),
)


def test_a_loaded_read_is_compared_by_its_slow_runs() -> None:
    """The p99 beside the most aggressors against the p99 alone, whatever else was measured."""
    found = healths(
        fabric,
        latency(200.0, "same_gpc", 14, "p50"),
        latency(100.0, "nowhere", 0, "p50"),
        msgspec.structs.replace(latency(9e9, "same_gpc", 4), headline=False),
        latency(4501.0, "same_gpc", 14),
        latency(300.0, "nowhere", 0),
    )
    assert found == {
        "a read beside 14 busy SMs (in its GPC) against one alone, p99": Health.CRITICAL
    }


def test_what_it_means() -> None:
    """The meaning is how far reads scale, and what others' reads cost."""
    assert words(
        fabric,
        *OTHERS,
        figure("fabric.single_sm", 63.0, "B/clk", op="read"),
        *speedups(1.95, 7.75, 60.0),
        latency(300.0, "nowhere", 0, "p50"),
        latency(500.0, "other_gpcs", 116, "p50"),
    ) == (
        "an SM alone 63 B/clk, all SMs 60 times that",
        (
            "All 132 SMs together read L2 60 times as fast as one. "
            "A read of L2 takes 150 ns, and 250 ns while all others read."
        ),
    )
