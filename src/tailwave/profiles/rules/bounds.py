"""What limits a kernel, and the figures that say how it runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from tailwave.figures import percent
from tailwave.model import Evidence
from tailwave.profiles.rules.kernel import (
    ATOMICS_MOST,
    DRAM_BUSY,
    ISSUED_PERCENT,
    L1_BUSY,
    L2_BUSY,
    Kernel,
    MissingCounterError,
)

# Below this of its peak a unit is not what a kernel waits for (NVIDIA's speed-of-light rule speaks
# of a latency issue when compute and memory are both below 60%).
_BUSY = 0.6
_ELAPSED = ".avg.pct_of_peak_sustained_elapsed"
_MOST_UNITS = 4  # shown
_COUNTS = {
    "registers a thread": "launch__registers_per_thread",
    "waves": "launch__waves_per_multiprocessor",
}
_PERCENTS = {
    "warps of an SM on average": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "L2 sectors that hit": "lts__t_sector_hit_rate.pct",
}
_LEAST_STALL = 0.01  # of a warp's latency
_UNITS = {
    "DRAM": DRAM_BUSY,
    "the L2": (L2_BUSY,),
    "the atomic unit of one L2 slice": (ATOMICS_MOST,),
    "the L1": (f"l1tex__data_pipe_lsu_wavefronts{_ELAPSED}", L1_BUSY),
    "issue slots": (f"sm__inst_issued{_ELAPSED}", ISSUED_PERCENT),
    "the FP64 pipe": (
        f"sm__pipe_fp64_cycles_active{_ELAPSED}",
        f"sm__inst_executed_pipe_fp64{_ELAPSED}",
    ),
    "the FMA pipe": (
        f"sm__pipe_fma_cycles_active{_ELAPSED}",
        f"sm__inst_executed_pipe_fma{_ELAPSED}",
    ),
    "the ALU pipe": (
        f"sm__pipe_alu_cycles_active{_ELAPSED}",
        f"sm__inst_executed_pipe_alu{_ELAPSED}",
    ),
    "the tensor pipe": (
        f"sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active{_ELAPSED}",
        f"sm__inst_executed_pipe_tensor{_ELAPSED}",
        # On GH100 this counts other users of the shared pipe as well (integer multiplication).
        f"sm__pipe_tensor_cycles_active{_ELAPSED}",
    ),
    "the XU pipe": (f"sm__inst_executed_pipe_xu{_ELAPSED}",),
    "the LSU pipe": (f"sm__inst_executed_pipe_lsu{_ELAPSED}",),
}
_STALL_WORDS = {
    "barrier": "at barriers",
    "branch_resolving": "for branches",
    "dispatch_stall": "for dispatch",
    "drain": "for stores to drain",
    "gmma": "for tensor operations",
    "imc_miss": "for constants",
    "lg_throttle": "for the queue of global memory",
    "long_scoreboard": "for memory",
    "math_pipe_throttle": "for a busy pipe",
    "membar": "at memory fences",
    "mio_throttle": "for the queue of shared memory",
    "misc": "for other reasons",
    "no_instruction": "for instructions to be fetched",
    "not_selected": "ready, another warp was issued",
    "selected": "issuing",
    "short_scoreboard": "for shared memory or special functions",
    "sleeping": "asleep",
    "tex_throttle": "for the texture queue",
    "wait": "for a fixed latency",
}


def bound(kernel: Kernel) -> str:
    """Say in a sentence what limits the kernel."""
    units = busy_units(kernel)
    if not units:
        return "What limits it is not in the profile: record the throughput metrics."
    idle = _idle(kernel)
    name, most = units[0]
    others = "; ".join(f"{unit} {percent(busy)}" for unit, busy in units[1:3])
    also = f" (then {others})" if others else ""
    if idle >= 1 - _BUSY:
        return _idle_sms(kernel, idle)
    if most >= _BUSY:
        return f"Bound by {name}, at {percent(most)} of its peak{also}."
    waits = stalls(kernel)
    reason = f"; warps mostly wait {waits[0].what}" if waits else ""
    return f"Latency: no unit is busy (the most: {name} at {percent(most)}){reason}."


def busy_units(kernel: Kernel) -> list[tuple[str, float]]:
    """Return units with how much of their peak they ran at, the busiest first."""
    found = [(name, kernel.fraction_or(-1.0, *metrics)) for name, metrics in _UNITS.items()]
    return sorted((unit for unit in found if unit[1] >= 0), key=lambda unit: -unit[1])


def stalls(kernel: Kernel) -> tuple[Evidence, ...]:
    """Return what warps spent their latency on, the greatest share first, without issuing."""
    shares = [
        Evidence(_STALL_WORDS.get(reason, f"for {reason}"), min(share.value, 1.0), "ratio")
        for reason, share in kernel.profile.stalls.items()
        if isinstance(share.value, float) and share.value >= _LEAST_STALL
        if reason not in ("selected", "not_selected")
    ]
    return tuple(sorted(shares, key=lambda share: -(share.value or 0.0)))


def figures(kernel: Kernel) -> tuple[Evidence, ...]:
    """Return the figures that say how a kernel runs."""
    busy = busy_units(kernel)[:_MOST_UNITS]
    known = [Evidence(f"{name} (of its peak)", part, "ratio") for name, part in busy]
    for what, name in _COUNTS.items():
        value = kernel.get(name)
        if value is not None and value > 0:  # rounded to 0, a small one is not known
            known.append(Evidence(what, value, "count"))
    for what, name in _PERCENTS.items():
        if kernel.get(name) is not None:
            known.append(Evidence(what, kernel.fraction(name), "ratio"))
    return (*known, *_three_ratios(kernel))


def _three_ratios(kernel: Kernel) -> list[Evidence]:
    """Return three ratios that are often asked for under names that no chip has.

    Dispatch stalls were to be warps launched and not active; dependency stalls instructions issued
    and not executed; the issue gap what instructions per warp leave of one. The counters named
    exist, but their units differ. What was meant is measured by these.
    """
    ratios: dict[str, Callable[[], float]] = {
        "warps' latency for dispatch": lambda: kernel.stall("dispatch_stall"),
        "for memory and its queue": lambda: kernel.stall("long_scoreboard", "lg_throttle"),
        "scheduler cycles without an issue": lambda: 1 - kernel.issuing,
    }
    found = []
    for what, ask in ratios.items():
        with suppress(MissingCounterError):
            found.append(Evidence(what, ask(), "ratio"))
    return found


def _idle(kernel: Kernel) -> float:
    try:
        return 1.0 - kernel.working
    except MissingCounterError:
        return 0.0


def _idle_sms(kernel: Kernel, idle: float) -> str:
    """Say when SMs idle: while others work, or while nothing runs yet or any more."""
    text = f"Idle SMs: the average SM has no work for {percent(idle)} of the kernel"
    try:
        uneven = kernel.unevenness
    except MissingCounterError:
        return f"{text}."
    if uneven >= idle / 2:
        return f"{text}, for most of it while other SMs work."
    return f"{text}, for most of it because so short a kernel is mostly start and end."
