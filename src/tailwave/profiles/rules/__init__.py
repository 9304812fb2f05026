"""What slows a single kernel, from its counters: one file a cause, all of them in ``KERNEL_RULES``.

To add one: a file that is a ``KernelRule``, with a docstring whose first line is its question and
whose four headings `tailwave explain` prints; a line here; a test file.
"""

from __future__ import annotations

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
from tailwave.profiles.rules.base import KernelRule

KERNEL_RULES: tuple[KernelRule, ...] = (
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
