"""Are there enough warps to hide latency, and what limits them?

What it means:
    Too few warps are on an SM to hide the latency of their instructions. A scheduler hides latency
    by switching between warps. How many warps an SM holds is limited by the registers and shared
    memory that a CTA takes, by the CTA's size, and by how many CTAs the grid has at all.

How it is found:
    Warps that fit an SM, of those that it could hold (smsp__warps_active.avg.peak_sustained); for a
    grid of less than a wave, what its CTAs bring. The share to win is the smallest of three:
    schedulers' idle cycles for waits that other warps would hide (fixed latency, scoreboards,
    branches); the missing part of the warps; what is left until the busiest unit runs at 80% of its
    peak. Full queues, barriers and instruction fetch are not counted, for more warps do not help.

What cures it:
    By the limit, which the evidence names. fewer-registers: __launch_bounds__ or maxnreg.
    less-shared: smaller tiles or fewer stages. block-size: one that divides the SM's warps.
    more-ctas: split the work further. more-ilp: several independent elements a thread, which needs
    no more warps.

What fools it:
    Kernels written for few fat CTAs (matrix products) hide latency within the warp and are best at
    low occupancy: their schedulers are not idle, so nothing is found. More warps share the same
    cache.
"""

from __future__ import annotations

from tailwave.figures import percent
from tailwave.model import Evidence
from tailwave.profiles.rules.base import Loss, NcuRule, least, ratio
from tailwave.profiles.rules.kernel import (
    GRID,
    LANES,
    LIMITS,
    MEMORY_BUSY,
    SM_BUSY,
    SMS,
    STALLED,
    STALLS,
    WORKING,
    Kernel,
    MissingCounterError,
)

CODE = "low-occupancy"
TITLE = "Too few warps to hide latency"
QUESTION = "are there enough warps to hide latency, and what limits them?"
_MOST = "sm__maximum_warps_per_active_cycle_pct"
_HELD = "smsp__warps_active.avg.peak_sustained"
_SCHEDULERS = 4  # in an SM, since Volta
_ACHIEVED = "sm__warps_active.avg.pct_of_peak_sustained_active"
# Other warps run meanwhile; a full queue, a barrier or a missing instruction holds them up as well.
_HIDEABLE = ("wait", "short_scoreboard", "long_scoreboard", "branch_resolving", "dispatch_stall")
_LIMITS = {
    "registers": ("registers", "fewer-registers"),
    "shared_mem": ("shared memory", "less-shared"),
    "warps": ("the size of a CTA, which does not divide the SM's warps", "block-size"),
    "blocks": ("the size of a CTA: an SM holds no more of such small ones", "block-size"),
    "barriers": ("barriers", "fewer-barriers"),
    "grid": ("the grid, which has too few CTAs", "more-ctas"),
}
METRICS: tuple[str, ...] = (
    _HELD,
    _ACHIEVED,
    *LIMITS,
    GRID,
    SMS,
    *(STALLS.format(reason) for reason in _HIDEABLE),
    *STALLED,
    SM_BUSY,
    MEMORY_BUSY,
    *WORKING,
)
NEEDED: tuple[str, ...] = (MEMORY_BUSY,)
THEIRS: tuple[NcuRule, ...] = (
    NcuRule("TheoreticalOccupancy", believed="too few warps on an SM"),
    NcuRule("AchievedOccupancy"),
)
DIFFERS = "ncu counts all idle cycles, tailwave those that more warps would fill"


def find(kernel: Kernel) -> Loss | None:
    """Take the idle cycles that more warps would hide, if warps are missing."""
    limit, occupancy = _occupancy(kernel)
    if occupancy >= 1:
        return None
    room = kernel.room(kernel.fraction(SM_BUSY), kernel.fraction(MEMORY_BUSY))
    share = min(kernel.waited(*_HIDEABLE), 1.0 - occupancy, room)
    words = _LIMITS[limit][0]
    claim = (
        f"At most {percent(occupancy)} of an SM's warps are there, limited by {words}, and "
        f"schedulers issue in only {percent(kernel.issuing)} of their cycles."
    )
    evidence = [
        ratio(f"of an SM's warps at most, limited by {words.partition(',')[0]}", occupancy),
        ratio("of scheduler cycles with an issue", kernel.issuing),
        ratio("of a warp's latency that more warps would hide", kernel.stall(*_HIDEABLE)),
        Evidence("fit an SM", kernel.resident, "CTAs"),
    ]
    achieved = kernel.get(_ACHIEVED)
    if achieved is not None:
        evidence.append(ratio("of an SM's warps on average", achieved / 100))
    return Loss(share, claim, tuple(evidence))


def cures(kernel: Kernel) -> tuple[str, ...]:
    """Return what cures it, by what limits the warps."""
    limit, _ = _occupancy(kernel)
    return (_LIMITS[limit][1], "more-ilp")


def most(kernel: Kernel) -> float:
    """No more than the warps that are missing, than schedulers idled, or than units leave."""
    return least(
        lambda: kernel.waited_at_most(*_HIDEABLE),
        lambda: 1.0 - _occupancy(kernel)[1],
        lambda: kernel.room(kernel.fraction(SM_BUSY), kernel.fraction(MEMORY_BUSY)),
    )


def _occupancy(kernel: Kernel) -> tuple[str, float]:
    """Return what limits the warps of an SM, and the part of them that it leaves."""
    fit = kernel.resident
    most = _most(kernel, fit)
    limit = min(kernel.limits, key=lambda name: kernel.limits[name])
    each = -(-kernel.ctas // kernel.sms)  # CTAs on the fullest SM
    if each < fit:
        return "grid", most * each / fit
    return limit, most


def _most(kernel: Kernel, fit: float) -> float:
    """Return the part of an SM's warps that the CTAs which fit it bring."""
    told = kernel.get(_MOST)
    if told is not None:
        return min(told / 100, 1.0)
    threads, held = kernel.threads, kernel.need(_HELD) * _SCHEDULERS
    if threads is None or held <= 0:
        raise MissingCounterError(("launch__block_size", _HELD))
    return min(fit * -(-threads // LANES) / held, 1.0)
