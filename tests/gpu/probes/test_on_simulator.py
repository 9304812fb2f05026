"""Every probe on the simulated H200, held against the parameters that it simulates."""

from __future__ import annotations

from collections import Counter

import pytest

from tailwave.gpu.devices import sim
from tailwave.gpu.devices.sim import chip
from tailwave.gpu.devices.sim.topology import build
from tailwave.gpu.probes import PROBES, run_probes
from tailwave.model import Measurement, Status, Table

CHIP = chip.load("h200")
CLOCK_GHZ = CHIP.clock.mhz / 1000
NEAR = 0.01


class Found:
    """What the probes found on one run."""

    def __init__(self) -> None:
        """Run them all, quickly."""
        self.results = list(run_probes(sim.open("h200"), quick=True))
        self.measurements = [r for r in self.results if isinstance(r, Measurement)]

    def value(self, name: str, **parameters: float | str) -> float:
        """Return a figure by name and parameters."""
        (found,) = [
            m.value
            for m in self.measurements
            if m.name == name and parameters.items() <= m.parameters.items()
        ]
        assert found is not None
        return found

    def table(self, name: str) -> Table:
        """Return a table by name."""
        (found,) = [r for r in self.results if isinstance(r, Table) and r.name == name]
        return found


@pytest.fixture(scope="module")
def found() -> Found:
    """One run of all probes."""
    return Found()


def test_every_figure_is_there(found: Found) -> None:
    """Each name that a probe declares comes out, and no other."""
    declared = {name for probe in PROBES for part in probe.parts for name in part.names}
    assert {result.name for result in found.results} == declared


def test_every_figure_is_good_and_marked_as_simulated(found: Found) -> None:
    """The simulated H200 can do all that a GPU can, and nothing of it passes for a measurement."""
    refused = {m.name for m in found.measurements if m.status is not Status.OK}
    assert refused == {"launch.host_loop"}
    assert all(result.simulated for result in found.results)


def test_intervals_hold_their_figures(found: Found) -> None:
    """A median lies within its interval, and samples are behind it."""
    for m in found.measurements:
        if m.status is not Status.OK:
            continue
        assert m.low is not None
        assert m.value is not None
        assert m.high is not None
        assert m.low <= m.value <= m.high
        assert m.samples


def test_figures_have_distinct_names_and_parameters(found: Found) -> None:
    """A comparison of two runs can tell which figure is which."""
    keys = [(m.name, *sorted(m.parameters.items())) for m in found.measurements]
    assert len(keys) == len(set(keys))


def test_launches_cost_what_the_chip_says(found: Found) -> None:
    """Enqueue, graph node and argument are parameters; jitter of the host is a few percent."""
    assert found.value("launch.enqueue") == pytest.approx(CHIP.launch.enqueue_ns / 1000, rel=0.02)
    assert found.value("launch.graph_node") == pytest.approx(
        CHIP.launch.graph_node_ns / 1000, rel=0.02
    )
    assert found.value("launch.per_argument") == pytest.approx(CHIP.launch.argument_ns, rel=0.2)


def test_ctas_are_dispatched_at_the_chips_pace(found: Found) -> None:
    """The slope of empty grids is the dispatcher's interval, and it is straight."""
    interval = CHIP.dispatch.cta_interval_ns
    assert found.value("dispatch.ns_per_cta") == pytest.approx(interval, rel=NEAR)
    assert found.value("dispatch.ctas_per_clock") == pytest.approx(
        1 / (interval * CLOCK_GHZ), rel=NEAR
    )
    assert found.value("dispatch.linearity") == pytest.approx(1.0, abs=1e-4)
    assert found.value("dispatch.fairness") == 1.0
    assert found.value("dispatch.tick") == CHIP.clock.tick_ns


def test_refills_take_the_chips_gap(found: Found) -> None:
    """The mean gap comes nearer than the timer's step."""
    gap = found.value("dispatch.refill_gap")
    assert gap == pytest.approx(CHIP.dispatch.refill_ns, abs=CHIP.clock.tick_ns / 4)


def test_the_first_wave_reaches_every_sm_once(found: Found) -> None:
    """A CTA per SM, in the chip's order."""
    order = [row[0] for row in found.table("dispatch.first_wave").values]
    assert order == build(CHIP.topology).order.tolist()


@pytest.mark.parametrize("warps", [1, 2, 4, 8, 16])
def test_dependent_work_fills_slots_with_warps(found: Found, warps: int) -> None:
    """A warp of dependent FMAs issues once a latency, until the slots are full."""
    expected = min(1 / CHIP.issue.fma_cycles, warps / CHIP.issue.fma_latency_cycles)
    slots = found.value("issue.slots", kind="dependent", warps_per_scheduler=warps)
    assert slots == pytest.approx(expected, rel=2 * NEAR)
    gap = found.value("issue.gap", kind="dependent", warps_per_scheduler=warps)
    assert gap == pytest.approx(1 / slots)


@pytest.mark.parametrize("warps", [2, 8, 32])
def test_barriers_cost_by_the_warp(found: Found, warps: int) -> None:
    """A barrier is a constant and a cost for each warp."""
    expected = CHIP.issue.barrier_cycles + warps * CHIP.issue.barrier_warp_cycles
    assert found.value("issue.barrier", warps=warps) == pytest.approx(expected, rel=NEAR)


def test_bank_conflicts_cost_by_the_way(found: Found) -> None:
    """The slope over ways is the chip's; padding and swizzle cure."""
    for access, near in (("load", NEAR), ("store", 5 * NEAR)):  # a few ways cost stores nothing
        per_way = found.value("banks.cycles_per_way", access=access)
        assert per_way == pytest.approx(CHIP.shared.way_cycles, rel=near)
    assert found.value("banks.padded") == pytest.approx(1.0)
    assert found.value("banks.swizzled") == pytest.approx(1.0)


def test_the_map_is_the_chips(found: Found) -> None:
    """Every SM has the TPC-mates and GPC-mates that the chip gives it, and the CPC-mates."""
    truth = build(CHIP.topology)
    rows = found.table("topology.map").values
    for column, labels in ((0, truth.tpc), (1, truth.gpc), (2, truth.gpc * 10 + truth.cpc)):
        pairs = {(row[column], int(label)) for row, label in zip(rows, labels, strict=True)}
        assert len(pairs) == len({mine for mine, _ in pairs}) == len(set(labels.tolist()))
    assert found.value("topology.gpcs") == len(CHIP.topology.gpcs)
    assert sum(int(row[0] or 0) for row in found.table("topology.sizes").values) == 132


def test_sizes_are_of_the_map(found: Found) -> None:
    """SMs and TPCs of each GPC, and the largest and the smallest of them."""
    gpc = build(CHIP.topology).gpc.tolist()
    sizes = sorted(gpc.count(label) for label in set(gpc))
    assert sorted(row[0] or 0 for row in found.table("topology.sizes").values) == sizes
    assert sorted(row[1] or 0 for row in found.table("topology.sizes").values) == [
        size // 2 for size in sizes
    ]
    assert found.value("topology.largest_gpc") == sizes[-1]
    assert found.value("topology.smallest_gpc") == sizes[0]
    assert found.value("topology.tpcs") == sum(sizes) / 2


def test_the_map_is_sure(found: Found) -> None:
    """Clear fingerprints leave no SM in doubt."""
    assert found.value("topology.confidence") > 0.99


def test_one_sm_reaches_its_port(found: Found) -> None:
    """Contention is measured from an SM that is at its own ceiling."""
    for op, port in (("read", CHIP.ports.sm_read), ("write", CHIP.ports.sm_write)):
        assert found.value("fabric.single_sm", op=op) == pytest.approx(port, rel=NEAR)


def test_speed_ups_are_the_ports(found: Found) -> None:
    """SMs together get what the narrowest port on their way lets through."""
    ports = CHIP.ports
    assert found.value("fabric.speedup_tpc", op="read") == pytest.approx(
        ports.tpc_read / ports.sm_read, rel=NEAR
    )
    assert found.value("fabric.speedup_gpc", op="read") == pytest.approx(
        ports.gpc_read / ports.sm_read, rel=NEAR
    )
    assert found.value("fabric.speedup_spread", op="read") == pytest.approx(16, rel=NEAR)


def test_latency_rises_beside_aggressors(found: Found) -> None:
    """The median and the tail of a read are worse beside a full GPC than alone."""
    for quantile in ("p50", "p99"):
        name = "fabric.loaded_latency"
        alone = found.value(name, quantile=quantile, aggressors=0)
        beside = found.value(name, quantile=quantile, where="same_gpc", aggressors=14)
        assert beside > 1.15 * alone


def test_atomics_on_one_word_go_one_by_one(found: Found) -> None:
    """All SMs on one word have the rate of one address."""
    expected = CHIP.atomics.address_rate * CLOCK_GHZ
    rate = found.value("fabric.same_line_atomics", stride=0)
    assert rate == pytest.approx(expected, rel=0.02)


def test_l2_is_as_far_as_the_chip_says(found: Found) -> None:
    """The mean latency is the chip's, and its two partitions are seen."""
    mean = found.value("l2.latency_mean")
    assert mean == pytest.approx(CHIP.latency.mean_cycles, rel=0.02)
    assert found.value("l2.partitions") == 2
    assert len(found.table("l2.latency").rows) == 132


def test_a_line_goes_to_and_fro_at_the_chips_cost(found: Found) -> None:
    """A round trip costs by where the partner is."""
    sharing = CHIP.sharing
    for where, cycles in (
        ("same_tpc", sharing.same_gpc_cycles),
        ("same_gpc", sharing.same_gpc_cycles),
        ("other_gpc", sharing.other_gpc_cycles),
    ):
        assert found.value("l2.share", where=where) == pytest.approx(cycles, rel=NEAR)


def test_copies_go_at_the_links_pace(found: Found) -> None:
    """Pinned copies get the link's bandwidth, and the link is as wide as it can be."""
    for way in ("copy.h2d_pinned", "copy.d2h_pinned"):
        assert found.value(way) == pytest.approx(CHIP.copies.pinned_gbps, rel=0.03)
    assert found.value("copy.link_width") == CHIP.copies.width
    assert found.value("copy.link_generation") == CHIP.copies.generation


def test_pageable_copies_and_copies_both_ways_go_at_the_chips_pace(found: Found) -> None:
    """Each way has its own; both ways at once are a share of twice one way."""
    copies = CHIP.copies
    assert found.value("copy.h2d_pageable") == pytest.approx(copies.pageable_gbps, rel=NEAR)
    assert found.value("copy.d2h_pageable") == pytest.approx(copies.pageable_back_gbps, rel=NEAR)
    both = 2 * copies.pinned_gbps * copies.both_share
    assert found.value("copy.both_pinned") == pytest.approx(both, rel=0.02)


def test_managed_pages_move_at_the_chips_pace(found: Found) -> None:
    """Faults are served some at once, and advice without a prefetch changes nothing."""
    managed = CHIP.managed
    faults = managed.fault_bytes * managed.faults_at_once / managed.fault_ns
    assert found.value("managed.fault_in") == pytest.approx(faults, rel=0.15)
    assert found.value("managed.advised") == pytest.approx(
        found.value("managed.fault_in"), rel=NEAR
    )
    assert found.value("managed.prefetch") == pytest.approx(managed.prefetch_gbps, rel=0.05)


HEADLINES = {
    "launch.enqueue": 1,
    "launch.sync": 1,
    "launch.back_to_back": 1,
    "launch.graph_node": 1,
    "launch.graph_launch_host": 1,
    "dispatch.ns_per_cta": 1,
    "dispatch.linearity": 1,
    "dispatch.refill_gap": 1,
    "dispatch.fairness": 1,
    "issue.slots": 2,
    "issue.gap": 2,
    "issue.barrier": 2,
    "banks.cycles_per_way": 2,
    "topology.gpcs": 1,
    "fabric.single_sm": 2,
    "fabric.speedup_tpc": 2,
    "fabric.speedup_gpc": 2,
    "fabric.speedup_spread": 2,
    "fabric.speedup_chip": 2,
    "fabric.fairness": 1,
    "fabric.loaded_latency": 6,
    "fabric.same_line_atomics": 1,
    "l2.latency_mean": 1,
    "l2.partitions": 1,
    "l2.bandwidth": 1,
    "l2.share": 3,
    "l2.poll": 1,
    "copy.h2d_pinned": 1,
    "copy.d2h_pinned": 1,
    "copy.both_pinned": 1,
    "copy.small": 1,
    "copy.link_width": 1,
    "copy.link_generation": 1,
    "context.switch": 1,
    "interference.alone": 2,
    "interference.shared": 2,
    "interference.partition": 2,
    "interference.tenant_pays": 1,
}


def test_headlines_are_these(found: Found) -> None:
    """A reference holds headline figures against headline figures, so none comes or goes unseen."""
    taken = Counter(m.name for m in found.measurements if m.headline)
    assert taken == HEADLINES, "mend HEADLINES above: these are the headline figures of the probes"


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("issue.slots", [{"kind": "dependent", "warps_per_scheduler": 1}]),
        ("issue.barrier", [{"warps": 8}, {"warps": 32}]),
        ("fabric.same_line_atomics", [{"stride": 0}]),
        ("l2.poll", [{"pollers": 131}]),
        ("l2.bandwidth", [{"mib": 15}]),  # a quarter of 60 MB
    ],
)
def test_which_of_several_is_the_headline(
    found: Found, name: str, parameters: list[dict[str, float | int | str]]
) -> None:
    """What is said of a link is said of the figure at these parameters."""
    headlines = [m.parameters for m in found.measurements if m.name == name and m.headline]
    assert [p for p in headlines if p.get("kind") != "independent"] == parameters


def test_contexts_cost_what_the_chip_says(found: Found) -> None:
    """Creation, memory and switch are the chip's."""
    contexts = CHIP.contexts
    assert found.value("context.create") == pytest.approx(contexts.create_ns / 1e6, rel=0.1)
    split_ms = CHIP.partition.split_ns / 1e6
    assert found.value("context.partition_create") == pytest.approx(split_ms, rel=NEAR)
    assert found.value("context.memory") == pytest.approx(contexts.bytes / 2**20)
    assert found.value("context.switch") == pytest.approx(contexts.switch_ns / 1000, rel=0.05)


def test_a_partition_helps_and_a_tenant_hurts(found: Found) -> None:
    """Beside a tenant small work waits for its CTAs; with SMs of its own it hardly does."""
    alone, shared, priority, partition = (
        found.value(f"interference.{name}", quantile="p50")
        for name in ("alone", "shared", "priority", "partition")
    )
    assert shared > priority > 2 * alone
    assert partition < 1.4 * alone
    assert found.value("interference.tenant_pays") > 1.2
