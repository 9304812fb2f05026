"""Do atomics contend for few addresses?

What it means:
    Atomic operations pile up on few addresses, and one slice of the L2 serves them one by one. An
    atomic on global memory is carried out in the L2 slice that owns the address, one at a time for
    one address. When every warp adds to the same counter, one slice works and the others wait.

How it is found:
    lts__d_atomic_input_cycles_active counts, per slice, the cycles in which its atomic unit took
    input. The busiest slice (.max) against the mean of all (.avg), both in percent of the elapsed
    cycles: the difference is the time that spreading the same atomics over all slices would save.

What cures it:
    aggregate-atomics: add up within the warp or the CTA first (reduce in shared memory, one atomic
    a CTA). privatise: several copies of the counter, added up at the end. sort-keys: so that equal
    addresses meet in one CTA.

What fools it:
    Atomics that are many but spread evenly are not contention: there the L2's atomic throughput is
    the bound, and only fewer atomics help. Atomics on shared memory are not seen here; their
    conflicts show as bank conflicts.
"""

from __future__ import annotations

from tailwave.figures import percent
from tailwave.model import Evidence
from tailwave.profiles.rules.base import Absence, Loss, NcuRule, ratio
from tailwave.profiles.rules.kernel import Kernel

CODE = "atomic-contention"
TITLE = "Atomics pile up on one slice of the L2"
QUESTION = "do atomics contend for few addresses?"
_BUSY = "lts__d_atomic_input_cycles_active.{}.pct_of_peak_sustained_elapsed"
METRICS: tuple[str, ...] = (
    _BUSY.format("max"),
    _BUSY.format("avg"),
    "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
)
NEEDED: tuple[str, ...] = METRICS[:2]
THEIRS: tuple[NcuRule, ...] = ()
DIFFERS = ""


def find(kernel: Kernel) -> Loss | Absence | None:
    """Compare the busiest slice's atomic unit with the mean of all slices."""
    requests = kernel.total(METRICS[2], METRICS[3])
    if requests == 0:
        return Absence("atomics on global memory (none)")
    most, mean = (kernel.fraction(_BUSY.format(which)) for which in ("max", "avg"))
    share = most - mean
    if share <= 0:
        return None
    claim = (
        f"One slice of the L2 is busy with atomics {percent(most)} of the kernel, the average "
        f"slice {percent(mean)}: the atomics go to few addresses and are served one by one."
    )
    counted = () if requests is None else (Evidence("for atomics", requests, "requests"),)
    evidence = (
        ratio("busiest slice's atomic unit", most),
        ratio("average slice's atomic unit", mean),
        *counted,
    )
    return Loss(share, claim, evidence)


def most(_: Kernel) -> float:
    """Nothing else bounds it."""
    return 1.0


def cures(_: Kernel) -> tuple[str, ...]:
    """Fewer atomics, or more addresses."""
    return ("aggregate-atomics", "privatise")
