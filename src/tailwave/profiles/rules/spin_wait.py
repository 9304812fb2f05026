"""Do CTAs wait for each other by polling?

What it means:
    CTAs poll a flag in memory until all the others have arrived. A barrier of the whole grid, or a
    lock, is a word in memory that warps read again and again. While they do, they hold their SM,
    and the other warps of their CTA wait behind them.

How it is found:
    Five signs, all of which must be there. Every CTA is resident at once (else a grid-wide wait
    would never end). There is at least one atomic for each CTA (it announces itself) and a load for
    each. A load brings one sector at most (all lanes read one word) and most pass the L1 (a cached
    flag would never change). Warps spend most of their time at barriers, waiting for loads, in
    fences or asleep. The share to win is the schedulers' idle time for these waits.

What cures it:
    split-kernel: two kernels, or two nodes of a graph, order themselves without polling.
    fewer-pollers: one thread a CTA polls, with __nanosleep between reads. cluster-barrier: where
    CTAs of a cluster suffice. fewer-phases: more work between two barriers.

What fools it:
    Work that is short between barriers looks like waiting, and is. A kernel that reads one word per
    warp and counts with atomics (a small histogram that waits for its loads) shows the same signs.
"""

from __future__ import annotations

from tailwave.figures import percent
from tailwave.model import Evidence
from tailwave.profiles.rules.base import Loss, NcuRule, ratio
from tailwave.profiles.rules.kernel import (
    GRID,
    LIMITS,
    SMS,
    STALLED,
    STALLS,
    WORKING,
    Kernel,
    MissingCounterError,
)

CODE = "spin-wait"
TITLE = "CTAs poll memory until others arrive"
QUESTION = "do CTAs wait for each other by polling?"
_WAITS = ("barrier", "long_scoreboard", "membar", "sleeping")
_MOST_OF = 0.5
_REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"
_READ = "lts__t_sectors_srcunit_tex_op_read.sum"
_L1_HITS = "l1tex__t_sector_hit_rate.pct"
METRICS: tuple[str, ...] = (
    *(_REQUESTS.format(operation) for operation in ("ld", "red", "atom")),
    _READ,
    _L1_HITS,
    GRID,
    SMS,
    *LIMITS,
    *(STALLS.format(reason) for reason in _WAITS),
    *STALLED,
    *WORKING,
)
NEEDED: tuple[str, ...] = (_READ,)
THEIRS: tuple[NcuRule, ...] = ()
DIFFERS = ""


def find(kernel: Kernel) -> Loss | None:
    """Take the time that warps waited, where all signs of polling are there."""
    loads, atomics, waiting = _loads(kernel), _atomics(kernel), kernel.stall(*_WAITS)
    if not _polls(kernel, loads, atomics) or waiting < _MOST_OF:
        return None
    share = kernel.waited(*_WAITS)
    claim = (
        f"All {kernel.ctas:,.0f} CTAs are resident, announce themselves by atomics and read one "
        f"word again and again; warps spend {percent(waiting)} of their time waiting for it."
    )
    evidence = (
        ratio("of a warp's latency waiting (barriers, loads, fences, sleep)", waiting),
        Evidence("atomics per CTA", atomics / kernel.ctas, ""),
        Evidence("loads per CTA", loads / kernel.ctas, ""),
        Evidence("L2 sectors per load", kernel.need(_READ) / loads, "sectors"),
        ratio("of L1 lookups that hit", kernel.fraction(_L1_HITS)),
    )
    return Loss(share, claim, evidence)


def most(kernel: Kernel) -> float:
    """Nothing where not all CTAs are resident; else no more than schedulers idled."""
    if kernel.ctas > kernel.resident * kernel.sms:
        return 0.0
    return kernel.waited_at_most(*_WAITS)


def cures(_: Kernel) -> tuple[str, ...]:
    """Another way to order phases, or less polling."""
    return ("split-kernel", "fewer-pollers")


def _polls(kernel: Kernel, loads: float, atomics: float) -> bool:
    """Tell whether a kernel's memory traffic is that of polling."""
    ctas = kernel.ctas
    if atomics < ctas or loads < ctas or ctas > kernel.resident * kernel.sms:
        return False
    one_word = kernel.need(_READ) <= loads
    return one_word and kernel.fraction(_L1_HITS) < _MOST_OF


def _loads(kernel: Kernel) -> float:
    return kernel.need(_REQUESTS.format("ld"))


def _atomics(kernel: Kernel) -> float:
    atomics = kernel.total(_REQUESTS.format("red"), _REQUESTS.format("atom"))
    if atomics is None:
        raise MissingCounterError((_REQUESTS.format("red"), _REQUESTS.format("atom")))
    return atomics
