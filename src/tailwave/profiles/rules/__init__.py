"""What slows a single kernel, from its counters: one file a cause, all of them in ``KERNEL_RULES``.

A rule looks at a Kernel and returns a Cause or None; it raises MissingCounterError where the
profile does not answer. To add one: a file with CODE, TITLE, QUESTION, METRICS (what to record for
it), NEEDED (those that it cannot do without, where chips lack them), THEIRS (the profiler's own
rules of the same, and a part of their title), DIFFERS (why those may say otherwise), ``find`` and a
docstring under the four headings; ``absent(kernel)`` where a kernel may not use the mechanism at
all; a line here; a test file. Where counters are missing, ``most(kernel)`` bounds the share by
others, and ``TRUSTED`` names the profiler's rules that are believed, in words that "cost ..." can
follow; ``cures(kernel)`` then says what to try.
"""

from __future__ import annotations

from types import ModuleType

from tailwave.profiles.rules import (
    atomic_contention,
    bank_conflict,
    barrier_stall,
    divergence,
    fabric_crossing,
    low_occupancy,
    memory_latency,
    sm_imbalance,
    small_grid,
    spin_wait,
    uncoalesced,
    wave_tail,
)

KERNEL_RULES: tuple[ModuleType, ...] = (
    sm_imbalance,
    low_occupancy,
    bank_conflict,
    atomic_contention,
    barrier_stall,
    memory_latency,
    uncoalesced,
    divergence,
    fabric_crossing,
    spin_wait,
    wave_tail,
    small_grid,
)
