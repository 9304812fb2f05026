"""The workloads, one file a family; ``GROUPS`` is the order in which they are recorded."""

from benchmarks.workloads.families import (
    compiled,
    contention,
    copies,
    healthy,
    interference,
    launches,
    modes,
    partitions,
    starved,
    syncs,
    waves,
)

# What matters most comes first: a session that runs out of time loses the end.
GROUPS = (
    *launches.GROUPS,
    *syncs.GROUPS,
    *starved.GROUPS,
    *copies.GROUPS,
    *interference.GROUPS,
    *waves.GROUPS,
    *contention.GROUPS,
    *partitions.GROUPS,
    *healthy.GROUPS,
    *modes.GROUPS,
    *compiled.GROUPS,
)
