"""Traffic between the L2's partitions."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tailwave.profiles.rules import fabric_crossing
from tests.builders import H200
from tests.profiles.rules.profiles import absent, find, found, made, missing

SECTORS = "lts__t_sectors_srcunit_ltcfabric.sum"
BUSY = f"{SECTORS}.pct_of_peak_sustained_elapsed"


def test_what_the_fabric_is_busier_than_the_next_unit() -> None:
    """The fabric at 70%, everything else at 20%."""
    stages = {"lts__t_sectors.avg.pct_of_peak_sustained_elapsed": 20.0, "lts__t_sectors.sum": 200.0}
    cause = found(fabric_crossing, made({SECTORS: 100.0, BUSY: 70.0, **stages}))
    assert cause.share == pytest.approx(0.5)


def test_crossing_is_no_fault_while_another_unit_is_the_bound() -> None:
    """A streaming copy crosses with half of its sectors and waits for DRAM."""
    dram = {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": 75.0}
    assert find(fabric_crossing, made({SECTORS: 100.0, BUSY: 43.0, **dram})) is None


@pytest.mark.parametrize(("busy", "said"), [(0.99, True), (1.0, False)])
def test_a_kernel_that_hardly_crosses_is_said_so(busy: float, *, said: bool) -> None:
    """Below a percent of the fabric's peak, a profile tells nothing of it."""
    assert (absent(fabric_crossing, made({SECTORS: 104.0, BUSY: busy})) != "") is said


@pytest.mark.parametrize(
    ("capability", "lacks"),
    [
        ((7, 5), ""),
        ((8, 6), ""),
        ((8, 9), ""),
        ((12, 0), ""),
        ((8, 0), SECTORS),
        ((10, 0), SECTORS),
    ],
)
def test_chips_with_one_partition_are_not_asked(capability: tuple[int, int], lacks: str) -> None:
    """Turing, GA10x, AD10x and GB20x have no such counter; GA100, GH100 and GB100 have."""
    major, minor = capability
    device = replace(H200, compute_major=major, compute_minor=minor)
    assert missing(fabric_crossing, replace(made(), device=device)) == lacks
