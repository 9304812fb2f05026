"""The description of a simulated chip: its parameters, read from a TOML file beside this one.

Each parameter's meaning, unit and origin stands in the file. Times are nanoseconds, cycles are SM
clock cycles, sizes are bytes, ports are bytes per cycle. A chip is described in full or not at
all: a missing parameter is an error, as is an unknown one; only ``lacks`` may be left out.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tailwave.errors import UnavailableError
from tailwave.gpu.devices.base import NotSupportedError


class Facts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Fixed properties, in the words of `DeviceFacts`."""

    compute_major: int
    compute_minor: int
    l2_bytes: int
    memory_bytes: int
    shared_per_sm: int
    shared_per_block_optin: int
    max_threads_per_sm: int
    max_threads_per_block: int
    max_ctas_per_sm: int
    max_cluster: int


class Clock(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The SM clock, the global timer and the host's clock."""

    mhz: int
    tick_ns: int
    start_ns: int
    read_ns: int


class Gpc(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A GPC: its TPCs by CPC, the L2 partition that is near, and the site that it lies at."""

    side: int
    site: int
    cpcs: tuple[tuple[int, ...], ...]


class Layout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which SMs form TPCs, CPCs and GPCs, and in which order an empty chip is filled.

    Leftover TPCs form no cluster with others.
    """

    gpcs: tuple[Gpc, ...]
    sms_per_tpc: int
    leftover_tpcs: tuple[int, ...]
    first_wave_tpcs: tuple[int, ...]
    first_wave_gpcs: tuple[int, ...]


class LaunchCosts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The launch front end: what the host pays, and what passes before the GPU starts."""

    enqueue_ns: float
    argument_ns: float
    latency_ns: float
    sync_ns: float
    idle_sync_ns: float
    stream_gap_ns: float
    graph_node_ns: float
    graph_enqueue_ns: float
    graph_host_node_ns: float
    jitter: float
    stall_chance: float
    stall_ns: float


class DispatchCosts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The block dispatcher."""

    cta_interval_ns: float
    cta_ns: float
    refill_ns: float
    reserved_shared: int


class Issue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the warp schedulers of an SM do in which time."""

    schedulers: int
    fma_latency_cycles: float
    fma_cycles: float
    further_cta_cycles: float
    nanosleep_cycles: float
    barrier_cycles: float
    barrier_warp_cycles: float


class SharedMemory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The banks of an SM's shared memory."""

    banks: int
    load_cycles: float
    store_cycles: float
    way_cycles: float


class Latency(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The parts of an L2 hit's latency."""

    mean_cycles: float
    tpc_step_cycles: float
    cpc_cycles: tuple[float, ...]
    partition_cycles: tuple[float, ...]
    site_sd_cycles: float
    ring_sd_cycles: float
    cpc_sd_cycles: float
    gpc_sd_cycles: float
    line_sd_cycles: float
    slices: int
    line_bytes: int
    memory_cycles: float


class Ports(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ports of the crossbar, L2 and memory, and what an SM keeps under way."""

    sm_read: float
    sm_write: float
    tpc_read: float
    tpc_write: float
    gpc_read: float
    gpc_write: float
    l2_read: float
    l2_write: float
    memory: float
    all_hit_bytes: int
    no_hit_bytes: int
    in_flight_bytes: int
    burst_cycles: float


class Atomics(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Thread-operations per cycle at an address, a line of several addresses, an SM."""

    address_rate: float
    line_rate: float
    sm_rate: float


class Sharing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What it costs to pass a line from one SM to others."""

    same_gpc_cycles: float
    other_gpc_cycles: float
    poll_ns: float
    poll_spread_ns: float


class Copies(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The link to the host and its copy engines."""

    pinned_gbps: float
    pageable_gbps: float
    pageable_back_gbps: float
    latency_ns: float
    enqueue_ns: float
    both_share: float
    width: int
    generation: int


class Contexts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What contexts cost."""

    create_ns: float
    destroy_ns: float
    bytes: int
    switch_ns: float
    reserved_bytes: int


class Managed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How managed memory moves."""

    fault_bytes: int
    fault_ns: float
    faults_at_once: int
    prefetch_gbps: float
    most_bytes: int


class Partition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the SMs can be split."""

    least: int
    alignment: int
    split_ns: float
    launch_ns: float

    def group_sizes(self, sm_count: int, asked: Sequence[int]) -> list[int]:
        """Round each group up, and add a last one with the SMs that remain, if any.

        Raises NotSupportedError when the rounded groups need more SMs than there are.
        """
        sizes = [max(self.least, -(-count // self.alignment) * self.alignment) for count in asked]
        rest = sm_count - sum(sizes)
        if rest < 0:
            raise NotSupportedError(
                f"Groups of {', '.join(map(str, sizes))} SMs, as rounded, need more than "
                f"{sm_count}."
            )
        return [*sizes, rest] if rest else sizes


class Chip(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole chip; ``lacks`` gives the reason for each feature that it is without."""

    name: str
    seed: int
    facts: Facts
    clock: Clock
    topology: Layout
    launch: LaunchCosts
    dispatch: DispatchCosts
    issue: Issue
    shared: SharedMemory
    latency: Latency
    ports: Ports
    atomics: Atomics
    sharing: Sharing
    copies: Copies
    contexts: Contexts
    managed: Managed
    partition: Partition
    lacks: dict[str, str] = {}

    def cycles(self, ns: float) -> float:
        """Convert nanoseconds to SM clock cycles."""
        return ns * self.clock.mhz / 1000

    def ns(self, cycles: float) -> float:
        """Convert SM clock cycles to nanoseconds."""
        return cycles * 1000 / self.clock.mhz


def names() -> list[str]:
    """Name the chips that are described here."""
    return sorted(path.stem for path in Path(__file__).parent.glob("*.toml"))


def load(name: str) -> Chip:
    """Read a chip by name ("h200"); raises UnavailableError when there is none."""
    if name not in names():
        raise UnavailableError(
            f"There is no simulated chip {name!r}; there are: {', '.join(names())}."
        )
    text = Path(__file__).with_name(f"{name}.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), Chip)
