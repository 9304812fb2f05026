"""One kernel's counters as the rules ask for them: by name, in fractions, over all spellings."""

from __future__ import annotations

from tailwave.model import KernelProfile

# A unit that runs at this much of its peak is well used: NVIDIA's own speed-of-light rule calls a
# workload above 80% bound by that unit, and sustained traffic seldom goes beyond 80 to 90%.
ATTAINABLE = 0.8
LANES = 32  # threads in a warp, on every chip

ELAPSED = ("sm__cycles_elapsed.max", "sm__cycles_elapsed.avg", "gpc__cycles_elapsed.max")
ACTIVE_MEAN = "sm__cycles_active.avg"
ACTIVE_MOST = "sm__cycles_active.max"
SM_BUSY = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
MEMORY_BUSY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
L2_BUSY = "lts__throughput.avg.pct_of_peak_sustained_elapsed"
L1_BUSY = "l1tex__throughput.avg.pct_of_peak_sustained_active"
DRAM_BUSY = (
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
)
# One slice of the L2 can be full of atomics while the L2 as a whole is idle.
ATOMICS_MOST = "lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed"
ISSUED = "smsp__issue_active.avg.per_cycle_active"
ISSUED_PERCENT = "smsp__issue_active.avg.pct_of_peak_sustained_active"
STALLS = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"
SMS = "launch__sm_count"
GRID = "launch__grid_size"
_LIMIT = "launch__occupancy_limit_"
_LIMITS = ("registers", "shared_mem", "warps", "blocks")  # newer versions tell of barriers as well
_NOT_STALLED = ("selected", "not_selected")

# What rules ask to be recorded, by what they compute of it: the CTAs that an SM holds, the part of
# the kernel in which the average SM worked, and what warps and schedulers lost to stalls.
LIMITS = tuple(f"{_LIMIT}{name}" for name in _LIMITS)
WORKING = (ACTIVE_MEAN, ELAPSED[0])
STALLED = (*(STALLS.format(reason) for reason in _NOT_STALLED), LATENCY, ISSUED)
_ELIGIBLE = "smsp__warps_eligible.avg.per_cycle_active"
_WARPS = "smsp__warps_active.avg.per_cycle_active"


class MissingCounterError(Exception):
    """A rule needs a counter that the profile does not have; ``names`` are its spellings."""

    def __init__(self, names: tuple[str, ...]) -> None:
        """Keep the names; the first is the one to record."""
        super().__init__(names[0])
        self.names = names


class Kernel:
    """A profile, and the names of the counters that were asked of it so far."""

    def __init__(self, profile: KernelProfile) -> None:
        """Look at a profile."""
        self.profile = profile
        self.used: list[str] = []

    def get(self, *names: str) -> float | None:
        """Return the number of the first of these counters that has one; None if none has."""
        for name in names:
            value = self.profile.value(name)
            if value is not None:
                self._note(name)
                return value
        return None

    def need(self, *names: str) -> float:
        """Return the number of the first of these counters; MissingCounterError if none has one."""
        value = self.get(*names)
        if value is None:
            raise MissingCounterError(names)
        return value

    def fraction(self, *names: str) -> float:
        """Return a counter in percent as a fraction, 0 to 1; MissingCounterError without one."""
        return min(max(self.need(*names) / 100, 0.0), 1.0)

    def fraction_or(self, default: float, *names: str) -> float:
        """Return a counter in percent as a fraction, or the default without one."""
        value = self.get(*names)
        return default if value is None else min(max(value / 100, 0.0), 1.0)

    def total(self, *names: str) -> float | None:
        """Return the sum of those of these counters that there are; None if there are none."""
        values = [value for name in names if (value := self.get(name)) is not None]
        return sum(values) if values else None

    @property
    def elapsed(self) -> float:
        """The kernel's cycles from its start to its end."""
        return self._positive(self.need(*ELAPSED), ELAPSED)

    @property
    def sms(self) -> float:
        """How many SMs the launch could use: the device's, unless in a green context."""
        value = self.get(SMS)
        if value is not None and value > 0:
            return value
        device = self.profile.device
        if device is None or not device.sm_count or self.get("launch__uses_green_context"):
            raise MissingCounterError((SMS,))
        return float(device.sm_count)

    @property
    def capability(self) -> tuple[int, int]:
        """The chip's compute capability; (0, 0) if unknown."""
        device = self.profile.device
        return (device.compute_major, device.compute_minor) if device else (0, 0)

    @property
    def ctas(self) -> float:
        """CTAs in the grid."""
        if self.profile.grid is not None:
            x, y, z = self.profile.grid
            self._note(GRID)
            return self._positive(float(x * y * z), (GRID,))
        return self._positive(self.need(GRID), (GRID,))

    @property
    def threads(self) -> float | None:
        """Threads in a CTA; None if unknown."""
        if self.profile.block is not None:
            x, y, z = self.profile.block
            return float(x * y * z)
        return self.get("launch__block_size")

    @property
    def limits(self) -> dict[str, float]:
        """How many CTAs fit an SM by each of its resources; empty where nothing is known."""
        found = {name: self.get(f"{_LIMIT}{name}") for name in (*_LIMITS, "barriers")}
        return {name: value for name, value in found.items() if value and value > 0}

    @property
    def resident(self) -> float:
        """How many CTAs fit an SM at once; the one limit that is not known may be the least."""
        limits = self.limits
        for name in _LIMITS:
            if name not in limits:
                raise MissingCounterError((f"{_LIMIT}{name}",))
        return min(limits.values())

    @property
    def working(self) -> float:
        """The part of the kernel's time in which the average SM had a warp."""
        return min(max(self.need(ACTIVE_MEAN), 0.0) / self.elapsed, 1.0)

    @property
    def unevenness(self) -> float:
        """The part of the kernel's time for which the average SM waited for the busiest one."""
        mean, most = self.need(ACTIVE_MEAN), self.need(ACTIVE_MOST)
        if most <= 0:
            return 0.0
        return max(most - mean, 0.0) / max(self.elapsed, most)

    @property
    def rounding(self) -> float:
        """The part of the time that the average SM idles when CTAs do not divide by the SMs.

        Each SM runs whole CTAs, so the busiest has the mean rounded up.
        """
        each = self.ctas / self.sms
        whole = -(-self.ctas // self.sms)
        return 1.0 - each / whole

    @property
    def issuing(self) -> float:
        """The part of a working scheduler's cycles in which it issued an instruction."""
        value = self.get(ISSUED_PERCENT)  # of the two, a details page rounds this one less
        return min(max(self.need(ISSUED) if value is None else value / 100, 0.0), 1.0)

    def stall(self, *reasons: str) -> float:
        """Return the share of a warp's latency that went to these reasons together."""
        shares = self.profile.stalls
        found = [reason for reason in reasons if reason in shares]
        if not found:
            raise MissingCounterError((STALLS.format(reasons[0]), LATENCY))
        values = [shares[reason] for reason in found]
        numbers = [share.value for share in values if isinstance(share.value, float)]
        if not numbers:
            raise MissingCounterError((LATENCY, STALLS.format(reasons[0])))
        for share in values:
            self._note(share.source)
        return min(sum(numbers), 1.0)

    def stall_or_none(self, *reasons: str) -> float:
        """Return the share of latency of these reasons, 0 where they were not counted."""
        try:
            return self.stall(*reasons)
        except MissingCounterError:
            return 0.0

    def waited(self, *reasons: str) -> float:
        """Return the part of the kernel's time in which schedulers had nothing to issue for these.

        A scheduler is idle when each of its warps is stalled; that time is divided among the
        reasons as the warps' stalled time is.
        """
        stalled = 1.0 - self._ready
        share = self.stall(*reasons)
        if stalled <= 0:
            return 0.0
        return (1.0 - self.issuing) * min(share / stalled, 1.0) * self.working

    def waited_at_most(self, *reasons: str) -> float:
        """Return the most that ``waited`` can be, by how long schedulers had nothing to issue.

        Where reasons are known that warps stalled for, their part is not these reasons'.
        """
        others = sum(
            share.value
            for reason, share in self.profile.stalls.items()
            if reason not in (*reasons, *_NOT_STALLED) and isinstance(share.value, float)
        )
        return (1.0 - self.issuing) * self.working * min(max(1.0 - others, 0.0), 1.0)

    def room(self, *busy: float) -> float:
        """Return the most that a cure of waiting saves: until the busiest unit is well used.

        The L2's slice with most atomics is a unit as well, where it was counted.
        """
        most = max(*busy, self.fraction_or(0.0, ATOMICS_MOST))
        return max(0.0, 1.0 - most / ATTAINABLE)

    @property
    def _ready(self) -> float:
        """The part of a warp's latency in which it issued, or could have."""
        counted = self.stall_or_none(*_NOT_STALLED)
        if counted > 0:
            return counted
        eligible, warps = self.get(_ELIGIBLE), self.get(_WARPS)
        if eligible is None or not warps or warps < 0:
            return 0.0
        return min(max(eligible / warps, 0.0), 1.0)

    def _note(self, name: str) -> None:
        if name and name not in self.used:
            self.used.append(name)

    @staticmethod
    def _positive(value: float, names: tuple[str, ...]) -> float:
        """Return a value that something is divided by; one that is not positive is missing."""
        if value <= 0:
            raise MissingCounterError(names)
        return value
