"""Kernel profiles for the rules: those kept of two reports of an H200, and some made by hand."""

from __future__ import annotations

import gzip
from collections.abc import Mapping

import msgspec

from tailwave.model import Counter, KernelProfile, KernelProfiles, Shape
from tailwave.profiles.rules.base import Absence, KernelRule, Loss
from tailwave.profiles.rules.kernel import Kernel, MissingCounterError
from tests import places
from tests.builders import H200

DATA = places.DATA / "kernels"
_PERCENT = ".avg.pct_of_peak_sustained_elapsed"
ELAPSED = 100_000.0  # cycles

# A kernel on all SMs of an H200 that is busy with nothing in particular.
QUIET = {
    "sm__cycles_elapsed.max": ELAPSED,
    "sm__cycles_active.avg": ELAPSED,
    "sm__cycles_active.max": ELAPSED,
    "launch__sm_count": 132.0,
    "launch__occupancy_limit_registers": 8.0,
    "launch__occupancy_limit_shared_mem": 32.0,
    "launch__occupancy_limit_warps": 8.0,
    "launch__occupancy_limit_blocks": 32.0,
    "sm__maximum_warps_per_active_cycle_pct": 100.0,
    "smsp__issue_active.avg.per_cycle_active": 0.2,
    "smsp__thread_inst_executed_per_inst_executed.ratio": 32.0,
    f"sm__throughput{_PERCENT}": 20.0,
    f"gpu__compute_memory_throughput{_PERCENT}": 20.0,
    f"gpu__dram_throughput{_PERCENT}": 20.0,
    f"lts__throughput{_PERCENT}": 20.0,
}


def kept(name: str) -> tuple[KernelProfile, ...]:
    """Return the launches of a report: counters that the rules look at, and ncu's own rules."""
    data = gzip.decompress((DATA / f"{name}.json.gz").read_bytes())
    return msgspec.json.decode(data, type=KernelProfiles).profiles


def made(
    counters: Mapping[str, float | None] | None = None,
    stalls: Mapping[str, float] | None = None,
    grid: Shape = (1056, 1, 1),
    block: Shape = (256, 1, 1),
) -> KernelProfile:
    """Make a profile of a quiet kernel with some counters changed, None for one without it.

    ``stalls`` are shares of latency.
    """
    changed = dict(counters or {})
    values = {name: value for name, value in (QUIET | changed).items() if value is not None}
    return KernelProfile(
        name="k(float *)",
        launch=0,
        names=("k(float *)",),
        grid=grid,
        block=block,
        device=H200,
        counters={name: Counter(value) for name, value in values.items()},
        stalls={reason: Counter(share, "ratio") for reason, share in (stalls or {}).items()},
    )


def find(rule: KernelRule, profile: KernelProfile) -> Loss | None:
    """Return what a rule finds in a profile, None also where it says that nothing can be there."""
    answer = rule.find(Kernel(profile))
    return answer if isinstance(answer, Loss) else None


def found(rule: KernelRule, profile: KernelProfile) -> Loss:
    """Return what a rule finds in a profile in which it must find something."""
    loss = find(rule, profile)
    assert loss is not None
    return loss


def absent(rule: KernelRule, profile: KernelProfile) -> str:
    """Return the mechanism that a rule says the kernel does not use; "" if it uses it."""
    answer = rule.find(Kernel(profile))
    return answer.what if isinstance(answer, Absence) else ""


def cures(rule: KernelRule, profile: KernelProfile) -> tuple[str, ...]:
    """Return what a rule says cures a kernel."""
    return rule.cures(Kernel(profile))


def evidence(cause: Loss, what: str) -> float | None:
    """Return the figure of one piece of evidence."""
    (value,) = (piece.value for piece in cause.evidence if piece.what == what)
    return value


def missing(rule: KernelRule, profile: KernelProfile) -> str:
    """Return the counter that a rule misses in a profile; "" if it misses none."""
    try:
        find(rule, profile)
    except MissingCounterError as error:
        return error.names[0]
    return ""
