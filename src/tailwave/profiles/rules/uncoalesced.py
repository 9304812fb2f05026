"""Are accesses to global memory coalesced?

What it means:
    Lanes of a warp read scattered words, so that more is moved than is used. Memory is moved in
    sectors of 32 bytes. A warp whose lanes read neighbouring 4-byte words needs 4 sectors; lanes
    far apart need one each, 32, and 28 of every 32 bytes moved go unused.

How it is found:
    Sectors that global accesses touch against the fewest for the same bytes
    (memory_l2_theoretical_sectors_global and its _ideal, or L1 sectors and the bytes used of each).
    The excess, times how busy the L2 or the L1's data stage is, is the share to win. Sectors that
    miss the L2 stay: another order of the same accesses would fetch them as well. At most what is
    left until DRAM runs at 80% of its peak.

What cures it:
    coalesce: neighbouring lanes on neighbouring words (swap loops, transpose through shared
    memory). structure-of-arrays: fields apart instead of records. vector-loads: one 16-byte load of
    a lane instead of four that are strided.

What fools it:
    Indirect accesses (gather, hash tables) cannot be coalesced by another order, only by another
    layout: then most sectors miss the L2 and little is left to win here. Excess sectors that hit
    the L1 cost its bandwidth alone.
"""

from __future__ import annotations

from tailwave.figures import percent
from tailwave.model import Evidence
from tailwave.profiles.rules.base import Loss, NcuRule, least, ratio
from tailwave.profiles.rules.kernel import DRAM_BUSY, L1_BUSY, L2_BUSY, Kernel, MissingCounterError
from tailwave.profiles.rules.sectors import RECORD, SECTOR, sectors

CODE = "uncoalesced"
TITLE = "Scattered accesses move more than they use"
QUESTION = "are accesses to global memory coalesced?"
_MISSES = "lts__t_sectors_srcunit_tex_lookup_miss.sum"
_HITS = "lts__t_sector_hit_rate.pct"
_DRAM_RATE, _DURATION = "dram__bytes.sum.per_second", "gpu__time_duration.sum"
_NS = 1e9  # in a second
_LSU = "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed"
_SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed"
METRICS: tuple[str, ...] = (*RECORD, L2_BUSY, _LSU, _SHARED, DRAM_BUSY[0], _MISSES)
NEEDED: tuple[str, ...] = (L2_BUSY, DRAM_BUSY[0])
THEIRS: tuple[NcuRule, ...] = (NcuRule("UncoalescedGlobalAccess"),)
DIFFERS = (
    "ncu counts all excess sectors, tailwave those that another order would save, for as long as "
    "the caches were busy"
)


def find(kernel: Kernel) -> Loss | None:
    """Take the time in which the caches moved sectors that better accesses would not need."""
    touched, fewest = sectors(kernel)
    if touched <= 0 or fewest >= touched:
        return None
    missed = min(_missed(kernel, touched), touched)
    saved = 1.0 - max(fewest, missed) / touched
    busy = max(kernel.fraction(L2_BUSY), _data_stage(kernel))
    share = min(saved * busy, kernel.room(kernel.fraction(*DRAM_BUSY)))
    claim = (
        f"Global accesses touch {touched / max(fewest, 1.0):.3g} times the sectors that their "
        f"bytes need, and the caches are {percent(busy)} busy moving them."
    )
    evidence = (
        Evidence("touched", touched, "sectors"),
        Evidence("at least, for the same bytes", fewest, "sectors"),
        Evidence("of them not in the L2, to be fetched anyhow", missed, "sectors"),
        ratio("busiest of the L2 and the L1's data stage", busy),
    )
    return Loss(share, claim, evidence)


def most(kernel: Kernel) -> float:
    """No more than the busier of L1 and L2 was at work, than DRAM leaves, or than is in excess."""
    return least(
        lambda: 1.0 - _needed(kernel),
        lambda: max(kernel.fraction(L2_BUSY), kernel.fraction(L1_BUSY)),
        lambda: kernel.room(kernel.fraction(*DRAM_BUSY)),
    )


def cures(_: Kernel) -> tuple[str, ...]:
    """Neighbouring lanes on neighbouring words."""
    return ("coalesce", "structure-of-arrays")


def _needed(kernel: Kernel) -> float:
    """Return the part of the sectors that the same bytes need at least."""
    touched, fewest = sectors(kernel)
    return fewest / touched if touched > 0 else 1.0


def _missed(kernel: Kernel, touched: float) -> float:
    """Return the sectors that missed the L2; without them the gain would be far too great."""
    missed = kernel.get(_MISSES)
    if missed is not None:
        return missed
    if kernel.get(_HITS) is None:
        raise MissingCounterError((_MISSES, _HITS))
    return max(touched * (1.0 - kernel.fraction(_HITS)), _moved(kernel))


def _moved(kernel: Kernel) -> float:
    """Return the sectors that DRAM moved, 0 where it was not counted.

    Where the L2 has two halves, what the far one serves is counted as a hit of the near one too, so
    that the hit rate alone makes misses too few.
    """
    rate, time = kernel.get(_DRAM_RATE), kernel.get(_DURATION)
    return rate * time / _NS / SECTOR if rate and time else 0.0


def _data_stage(kernel: Kernel) -> float:
    """Return how busy the L1's data stage was with other than shared memory."""
    return max(kernel.fraction_or(0.0, _LSU) - kernel.fraction_or(0.0, _SHARED), 0.0)
