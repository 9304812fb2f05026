"""Scattered accesses to global memory."""

from __future__ import annotations

import pytest

from tailwave.profiles.rules import uncoalesced
from tailwave.profiles.rules.kernel import Kernel
from tests.profiles.rules.profiles import find, found, made, missing

TOUCHED = "memory_l2_theoretical_sectors_global"
L2 = "lts__throughput.avg.pct_of_peak_sustained_elapsed"
DRAM = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
MISSES = "lts__t_sectors_srcunit_tex_lookup_miss.sum"
SCATTERED = {TOUCHED: 800.0, f"{TOUCHED}_ideal": 100.0, L2: 80.0, MISSES: 0.0}


def test_the_excess_for_as_long_as_the_l2_was_busy() -> None:
    """Seven eighths of the sectors are not needed, and the L2 is busy 80% of the time."""
    cause = found(uncoalesced, made(SCATTERED))
    assert cause.share == pytest.approx(0.7)
    assert "8 times the sectors" in cause.claim


def test_sectors_that_miss_the_l2_stay() -> None:
    """Half of them have to be fetched in whatever order: only the other half is won."""
    assert found(uncoalesced, made({**SCATTERED, MISSES: 400.0})).share == pytest.approx(0.4)


def test_the_hit_rate_stands_in_for_the_misses() -> None:
    """A file without the misses themselves."""
    counters = {**SCATTERED, MISSES: None, "lts__t_sector_hit_rate.pct": 50.0}
    assert found(uncoalesced, made(counters)).share == pytest.approx(0.4)


def test_sectors_that_dram_moved_were_not_in_the_l2() -> None:
    """512 of 800 sectors in a microsecond, where the hit rate alone suggests 400."""
    moved = {"dram__bytes.sum.per_second": 16.384e9, "gpu__time_duration.sum": 1000.0}
    counters = {**SCATTERED, MISSES: None, "lts__t_sector_hit_rate.pct": 50.0, **moved}
    assert found(uncoalesced, made(counters)).share == pytest.approx(0.8 * 288 / 800)


def test_a_full_dram_leaves_nothing() -> None:
    """Where DRAM is at 80%, better accesses wait for it all the same."""
    assert found(uncoalesced, made({**SCATTERED, DRAM: 80.0})).share == 0


def test_excess_in_the_l1_counts_where_the_l1_is_busy() -> None:
    """The data stage at 90%, 10% of it with shared memory."""
    busy = {
        L2: 5.0,
        "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed": 90.0,
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed": 10.0,
    }
    assert found(uncoalesced, made({**SCATTERED, **busy})).share == pytest.approx(0.7)


def test_coalesced_accesses_are_no_finding() -> None:
    """As many sectors as needed."""
    assert find(uncoalesced, made({TOUCHED: 100.0, f"{TOUCHED}_ideal": 100.0})) is None


def test_the_hardwares_sectors_do_as_well() -> None:
    """Bytes used of each sector: 4 of 32 in loads, all in stores."""
    sectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"
    used = "smsp__sass_average_data_bytes_per_sector_mem_global_op_{}.ratio"
    counters = {
        sectors.format("ld"): 800.0,
        used.format("ld"): 4.0,
        sectors.format("st"): 200.0,
        used.format("st"): 32.0,
        L2: 80.0,
        MISSES: 0.0,
    }
    assert found(uncoalesced, made(counters)).share == pytest.approx(0.8 * (1 - 300 / 1000))
    counters[sectors.format("st")] = 0.0
    del counters[used.format("st")]  # no stores, so nothing used of them
    assert found(uncoalesced, made(counters)).share == pytest.approx(0.7)


def test_what_is_missing_is_named() -> None:
    """The source's counters, first of all."""
    assert missing(uncoalesced, made()) == f"{TOUCHED}_ideal"


def test_more_misses_than_sectors_leave_nothing() -> None:
    """Stores and other traffic miss as well: nothing is won, and no less than nothing."""
    assert found(uncoalesced, made({**SCATTERED, MISSES: 900.0})).share == 0


def test_without_misses_the_question_is_open() -> None:
    """Every excess sector would count as one that is won."""
    assert missing(uncoalesced, made({**SCATTERED, MISSES: None})) == MISSES


def test_no_more_is_lost_than_is_in_excess() -> None:
    """Misses or not: of 1,000 sectors 4 are too many, of a full L2."""
    few = {TOUCHED: 1000.0, f"{TOUCHED}_ideal": 996.0, L2: 100.0, MISSES: None}
    assert uncoalesced.most(Kernel(made(few))) == pytest.approx(0.004)
