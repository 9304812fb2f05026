"""Stall reasons in each of ncu's spellings, as shares of the latency."""

from __future__ import annotations

import pytest

from tailwave.model import Counter
from tailwave.profiles.ncu.stalls import stall_shares

SPELLINGS = {
    "per issue": "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio",
    "latency": "smsp__average_warp_latency_issue_stalled_{}.ratio",
    "latency, percent": "smsp__average_warp_latency_issue_stalled_{}.pct",
    "cumulative": "smsp__warps_issue_stalled_{}.sum",
    "samples": "smsp__pcsamp_warps_issue_stalled_{}",
}
TOTALS = {
    "per issue": "smsp__average_warp_latency_per_inst_issued.ratio",
    "latency": "smsp__average_warp_latency.ratio",
    "latency, percent": "smsp__average_warp_latency.pct",
    "cumulative": "smsp__warps_active.sum",
    "samples": "smsp__pcsamp_sample_count",
}
REASONS = (
    *("barrier", "branch_resolving", "dispatch_stall", "drain", "imc_miss", "lg_throttle"),
    *("long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "no_instruction"),
    *("not_selected", "selected", "short_scoreboard", "sleeping", "tex_throttle", "wait"),
)


def number(value: float) -> Counter:
    """Make a counter."""
    return Counter(float(value))


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_reason_is_divided_by_the_total(spelling: str) -> None:
    """Whatever a spelling counts in, a reason's share is its part of the whole."""
    name = SPELLINGS[spelling].format("barrier")
    shares = stall_shares({name: number(30), TOTALS[spelling]: number(120)})
    assert shares == {"barrier": Counter(0.25, "ratio", source=name)}


def test_percent_of_the_latency_is_divided_by_its_ratio() -> None:
    """The total may be there as a ratio only."""
    name = SPELLINGS["latency, percent"].format("wait")
    shares = stall_shares({name: number(3000), "smsp__average_warp_latency.ratio": number(120)})
    assert shares["wait"].value == 0.25


@pytest.mark.parametrize("end", [".pct", ".avg.pct"])
def test_the_oldest_spelling_is_a_share_already(end: str) -> None:
    """Percent of the warps there are, per cycle."""
    name = f"smsp__warp_issue_stalled_wait_per_warp_active{end}"
    assert stall_shares({name: number(25)}) == {"wait": Counter(0.25, "ratio", source=name)}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_all_reasons_add_up_to_one(spelling: str) -> None:
    """With all reasons there, the total is their sum, whatever another pass measured."""
    counters = {SPELLINGS[spelling].format(r): number(n) for n, r in enumerate(REASONS, 1)}
    shares = stall_shares(counters | {TOTALS[spelling]: number(1)})
    assert shares.keys() == set(REASONS)
    assert shares["barrier"].value == 1 / 153
    assert sum(c.value for c in shares.values() if isinstance(c.value, float)) == pytest.approx(1)


def test_without_a_total_a_share_is_not_known() -> None:
    """Some reasons and no total make no shares."""
    name = SPELLINGS["per issue"].format("barrier")
    expected = Counter(None, "ratio", "the total was not collected", name)
    assert stall_shares({name: number(3)}) == {"barrier": expected}


def test_a_kernel_without_warps_has_no_shares() -> None:
    """Nothing over nothing is not 0."""
    name = SPELLINGS["samples"].format("barrier")
    shares = stall_shares({name: number(0), TOTALS["samples"]: number(0)})
    assert shares["barrier"] == Counter(None, "ratio", "no warp was counted", name)


def test_a_counter_without_a_value_says_why() -> None:
    """The reason of the counter is the share's."""
    name = SPELLINGS["per issue"].format("barrier")
    shares = stall_shares({name: Counter(None, "inst", "ncu wrote n/a")})
    assert shares["barrier"] == Counter(None, "ratio", "ncu wrote n/a", name)


def test_the_first_spelling_with_a_share_is_taken() -> None:
    """Samples serve where the counters have no total."""
    counters = {
        SPELLINGS["per issue"].format("barrier"): number(3),
        SPELLINGS["samples"].format("barrier"): number(10),
        TOTALS["samples"]: number(40),
    }
    expected = Counter(0.25, "ratio", source=SPELLINGS["samples"].format("barrier"))
    assert stall_shares(counters) == {"barrier": expected}


def test_names_of_one_reason_come_together() -> None:
    """Samples call two reasons otherwise than counters do."""
    samples = {
        SPELLINGS["samples"].format("no_instructions"): number(10),
        SPELLINGS["samples"].format("warpgroup_arrive"): number(20),
        TOTALS["samples"]: number(40),
    }
    shares = stall_shares(samples)
    assert {r: c.value for r, c in shares.items()} == {"no_instruction": 0.25, "gmma": 0.5}


@pytest.mark.parametrize(
    "part",
    ["barrier_not_issued", "no_instructions_not_issued", "long_scoreboard_pipe_l1tex"],
)
def test_parts_of_a_reason_are_no_reasons(part: str) -> None:
    """They are in the reason's own counter already."""
    assert stall_shares({SPELLINGS["samples"].format(part): number(1)}) == {}


@pytest.mark.parametrize(("part", "total"), [(-1, 4), (1, -4), (112, 100)])
def test_a_share_is_a_part_of_the_whole(part: float, total: float) -> None:
    """Damaged figures are of nothing."""
    name = SPELLINGS["per issue"].format("barrier")
    shares = stall_shares({name: number(part), TOTALS["per issue"]: number(total)})
    assert shares == {"barrier": Counter(None, "ratio", "no part of the total", name)}
