"""The L2 link: faster than memory, and no worse than one poller after the other."""

from __future__ import annotations

import pytest

from tailwave.gpu.verdicts import l2
from tailwave.model import Health
from tests.gpu.verdicts.links import healths, words
from tests.measured import figure


@pytest.mark.parametrize(
    ("beyond", "expected"),
    [(3900.0, Health.OK), (9600.0, Health.OK), (9601.0, Health.CRITICAL)],
)
def test_what_fits_is_read_faster(beyond: float, expected: Health) -> None:
    """Data that fit L2 are read at least as fast as data that do not."""
    found = healths(
        l2,
        figure("l2.bandwidth", 5000.0, "GB/s", mib=40, headline=False),
        figure("l2.bandwidth", 9600.0, "GB/s", mib=12),
        figure("l2.bandwidth", beyond, "GB/s", mib=100, headline=False),
    )
    assert found == {"bandwidth of data that fit L2 against data that do not": expected}


@pytest.mark.parametrize(("all_ns", "expected"), [(65_500, Health.OK), (65_600, Health.WARNING)])
def test_pollers_see_a_write_one_after_the_other_at_worst(all_ns: int, expected: Health) -> None:
    """131 pollers have seen a write after 131 times what one takes."""
    found = healths(
        l2,
        figure("l2.poll", 500.0, "ns", pollers=1, headline=False),
        figure("l2.poll", float(all_ns), "ns", pollers=131),
    )
    assert found == {"a write seen by 131 polling SMs against one": expected}


def test_what_it_means() -> None:
    """The meaning is what fitting L2 is worth; a flag without a clock stays in cycles."""
    assert words(
        l2,
        figure("l2.latency_mean", 297.0, "clk"),
        figure("l2.bandwidth", 9600.0, "GB/s", mib=12),
        figure("l2.bandwidth", 3840.0, "GB/s", mib=100, headline=False),
        figure("l2.share", 700.0, "clk", where="same_gpc"),
        figure("l2.share", 1000.0, "clk", where="other_gpc"),
    ) == (
        "latency 297 clk, in L2 9,600 GB/s, beyond 3,840 GB/s",
        (
            "A working set that fits L2 is read 2.5 times as fast. "
            "A flag to another SM and back takes 1,000 clk."
        ),
    )
