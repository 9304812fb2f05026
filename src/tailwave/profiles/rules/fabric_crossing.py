"""Is the fabric between the L2's partitions the bound?

What it means:
    Traffic between the two halves of the L2 is what the kernel waits for. The L2 of some chips
    (GA100, GH100, GB100) has two partitions with a fabric between them. A line that is owned by the
    far one crosses the fabric. Addresses are spread over both, so about half of all traffic crosses
    in any kernel; that is no fault, until the fabric is the bound.

How it is found:
    Sectors that arrive over the fabric (lts__t_sectors_srcunit_ltcfabric) in percent of its peak,
    against every other unit (DRAM, the L2's own stages, the L1, the SM). Only what it is busier
    than the next is counted: without crossings that would be the bound.

What cures it:
    locality-domains: memory and SMs of one partition together (CUDA 13.4 and later). reuse-in-sm:
    tiles in shared memory or a cluster's distributed shared memory instead of the L2. smaller-set:
    read-mostly data is kept in both partitions while it fits.

What fools it:
    Sectors count for each crossing; the fabric's stalls are not in every report. Chips with one L2
    partition have no such counter, and nothing is said of them.
"""

from __future__ import annotations

from tailwave.figures import percent
from tailwave.model import Evidence
from tailwave.profiles.rules.base import Absence, Loss, NcuRule, ratio
from tailwave.profiles.rules.kernel import DRAM_BUSY, L1_BUSY, L2_BUSY, SM_BUSY, Kernel

CODE = "fabric-crossing"
TITLE = "The fabric between the L2's halves is the bound"
QUESTION = "is the fabric between the L2's partitions the bound?"
_SECTORS = "lts__t_sectors_srcunit_ltcfabric.sum"
_BUSY = f"{_SECTORS}.pct_of_peak_sustained_elapsed"
_ALL = "lts__t_sectors.sum"
_PEAK = ".avg.pct_of_peak_sustained_elapsed"
# The L2's own stages; its throughput as a whole has the fabric in it.
_STAGES = ("lts__t_sectors", "lts__t_tag_requests", "lts__d_sectors", "lts__xbar2lts_cycles_active")
METRICS: tuple[str, ...] = (
    _SECTORS,
    _BUSY,
    _ALL,
    *(f"{stage}{_PEAK}" for stage in _STAGES),
    DRAM_BUSY[0],
    L1_BUSY,
    SM_BUSY,
    "lts__ltcfabric2lts_cycles_stalled.sum",
)
NEEDED: tuple[str, ...] = (_SECTORS, _BUSY)
THEIRS: tuple[NcuRule, ...] = ()
DIFFERS = ""
# Compute capabilities whose chips have no fabric counters in the lists of libnvperf_host 12.9 and
# 13.5: all of 7.x and 12.x, and GA10x, AD10x and the SoCs besides.
_ONE_PARTITION_MAJOR = frozenset({7, 12})
_ONE_PARTITION = frozenset({(8, 6), (8, 7), (8, 9), (10, 1), (11, 0)})
ABSENT_BELOW = 0.01  # of the fabric's peak: what any launch brings of its own


def find(kernel: Kernel) -> Loss | Absence | None:
    """Take what the fabric is busier than every other unit."""
    if _has_none(kernel):
        return None
    crossing, busy = kernel.need(_SECTORS), kernel.fraction(_BUSY)
    if busy < ABSENT_BELOW:
        return Absence(f"the L2's fabric ({crossing:,.0f} sectors, {percent(busy)} of its peak)")
    others = max(
        kernel.fraction(*DRAM_BUSY),
        kernel.fraction_or(0.0, L1_BUSY),
        kernel.fraction(SM_BUSY),
        _stages(kernel),
    )
    share = busy - others
    if share <= 0:
        return None
    claim = (
        f"The fabric between the L2's partitions runs at {percent(busy)} of its peak, and no other "
        f"unit is as busy (the next: {percent(others)})."
    )
    evidence = [
        Evidence("over the fabric", crossing, "sectors"),
        ratio("of the fabric's peak", busy),
        ratio("of the next busiest unit's peak", others),
    ]
    everything = kernel.get(_ALL)
    if everything:
        evidence.append(ratio("of the L2's sectors crossed it", crossing / everything))
    return Loss(share, claim, tuple(evidence))


def most(kernel: Kernel) -> float:
    """No more than the L2 was busy, whose throughput has the fabric in it."""
    return kernel.fraction(L2_BUSY)


def cures(_: Kernel) -> tuple[str, ...]:
    """Data near to its SM, or in it."""
    return ("locality-domains", "reuse-in-sm")


def _has_none(kernel: Kernel) -> bool:
    """Tell whether the chip is known to have one L2 partition only, hence no such counter."""
    device = kernel.profile.device
    if device is None or kernel.get(_SECTORS) is not None:
        return False
    capability = (device.compute_major, device.compute_minor)
    return device.compute_major in _ONE_PARTITION_MAJOR or capability in _ONE_PARTITION


def _stages(kernel: Kernel) -> float:
    busy = [value for stage in _STAGES if (value := kernel.get(f"{stage}{_PEAK}")) is not None]
    return max(busy) / 100 if busy else kernel.fraction(L2_BUSY)
