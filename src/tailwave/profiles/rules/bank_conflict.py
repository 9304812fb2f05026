"""Do shared-memory accesses conflict in their banks?

What it means:
    Lanes of a warp hit the same bank of shared memory, so one access takes several turns. There are
    32 banks, each 4 bytes wide. A warp's access is served in one wavefront when its 32 lanes hit
    different banks or the same word; lanes that want different words of one bank are served one
    after another, each in a wavefront of its own. That depends on the addresses of one warp alone:
    no number of SMs changes it.

How it is found:
    Wavefronts of shared-memory accesses against the fewest that these accesses need
    (memory_l1_wavefronts_shared and its _ideal, or l1tex__data_bank_conflicts of
    l1tex__data_pipe_lsu_wavefronts). An SM serves one wavefront a cycle, one in two cycles on
    Turing (CC 7.5), so the excess divided by the SMs is cycles lost of each SM; over the kernel's
    cycles that is the share to win.

What cures it:
    pad-shared: a row of 33 words instead of 32, so that a column lies in different banks. swizzle:
    an XOR of row and column, where padding costs too much memory or breaks alignment. vector-loads:
    accesses of 8 or 16 bytes a lane, which the hardware serves in parts by itself.

What fools it:
    Conflicts cost nothing while something else holds the kernel up: the share is what the data
    stage was busy with them, an upper bound. The hardware's counter also counts cycles in which
    other traffic of the L1 was served first, so the counter by instruction is preferred.
"""

from __future__ import annotations

from tailwave.figures import percent
from tailwave.model import Evidence
from tailwave.profiles.rules.base import Absence, Loss, NcuRule, count
from tailwave.profiles.rules.kernel import ELAPSED, L1_BUSY, SMS, Kernel, MissingCounterError

CODE = "bank-conflict"
TITLE = "Shared-memory accesses conflict in their banks"
QUESTION = "do shared-memory accesses conflict in their banks?"
_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"
_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared"
METRICS: tuple[str, ...] = (f"{_CONFLICTS}.sum", f"{_WAVEFRONTS}.sum", ELAPSED[0], SMS)
NEEDED: tuple[str, ...] = ()
THEIRS: tuple[NcuRule, ...] = (
    NcuRule("UncoalescedSharedAccess", believed="uncoalesced shared accesses"),
    NcuRule("SharedMemoryConflicts"),
)
DIFFERS = "tailwave counts cycles of the SMs' data stage, ncu wavefronts"
# Compute capability -> cycles of the data stage for a wavefront; 1 on all others. Published figures
# of a T4 show a reduction with 5,505,024 wavefronts in excess on each SM, and one without. Busy
# for 96.36% of 38,959,465 cycles and 87.37% of 30,369,710, the L1s differ by 2.00 cycles for each.
_CYCLES = {(7, 5): 2}
_OPERATIONS = ("_op_ld", "_op_st", "_op_atom")


def find(kernel: Kernel) -> Loss | Absence:
    """Count the wavefronts that conflicts cost, in cycles of each SM."""
    wavefronts, excess = _wavefronts(kernel)
    if excess <= 0:
        seen = count(wavefronts, "wavefront") if wavefronts else "no access at all"
        return Absence(f"shared-memory bank conflicts (none: {seen})")
    lost = excess * _CYCLES.get(kernel.capability, 1) / kernel.sms
    share = min(lost / kernel.elapsed, 1.0)
    ways = wavefronts / max(wavefronts - excess, 1.0)
    claim = (
        f"Bank conflicts make shared-memory accesses take {ways:.3g} times the wavefronts that "
        f"they need; each SM spends {percent(share)} of the kernel serving the excess."
    )
    evidence = (
        Evidence("conflicts per wavefront", excess / wavefronts, ""),
        Evidence("of shared memory", wavefronts, "wavefronts"),
        Evidence("of them more than needed", excess, "wavefronts"),
        Evidence("lost on each SM", lost, "cycles"),
    )
    return Loss(share, claim, evidence)


def cures(_: Kernel) -> tuple[str, ...]:
    """Another address for each lane of a row, by padding or by XOR."""
    return ("pad-shared", "swizzle")


def most(kernel: Kernel) -> float:
    """No more than the L1 was busy."""
    return kernel.fraction(L1_BUSY) * kernel.working


def _wavefronts(kernel: Kernel) -> tuple[float, float]:
    """Return the wavefronts of shared memory, and those that conflicts add."""
    actual = kernel.get("memory_l1_wavefronts_shared")
    ideal = kernel.get("memory_l1_wavefronts_shared_ideal")
    if actual is not None and ideal is not None:
        return actual, max(actual - ideal, 0.0)
    conflicts = kernel.total(f"{_CONFLICTS}.sum")
    if conflicts is None:
        conflicts = kernel.total(*(f"{_CONFLICTS}{part}.sum" for part in _OPERATIONS))
    if conflicts is None:
        raise MissingCounterError((f"{_CONFLICTS}.sum", "memory_l1_wavefronts_shared"))
    return max(kernel.need(f"{_WAVEFRONTS}.sum"), conflicts), conflicts
