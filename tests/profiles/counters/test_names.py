"""Names of counters against a list."""

from __future__ import annotations

import pytest

from tailwave.profiles.counters.names import base, chip_of, near, unknown, wrong_ending

KNOWN = frozenset({"sm__cycles_active", "sm__cycles_elapsed", "lts__t_sectors", "dram__bytes"})


def test_a_name_is_looked_up_without_its_roll_up() -> None:
    """.avg and .sum.per_second are said of any counter."""
    assert base("dram__bytes.sum.per_second") == "dram__bytes"
    assert unknown(["sm__cycles_active.avg", "sm__cycles.avg"], KNOWN) == ("sm__cycles.avg",)


def test_properties_of_the_launch_need_no_counter() -> None:
    """They are known on any chip."""
    assert unknown(["launch__grid_size", "device__attribute_warp_size"], KNOWN) == ()


@pytest.mark.parametrize(
    ("name", "first"), [("sm__cycle_active", ("sm__cycles_active",)), ("nothing_at_all_alike", ())]
)
def test_near_names(name: str, first: tuple[str, ...]) -> None:
    """The most alike first; none where nothing is."""
    assert near(name, KNOWN)[:1] == first


@pytest.mark.parametrize(
    "name",
    [
        "sm__cycles_active",
        "sm__cycles_active.avg",
        "dram__bytes.sum.per_second",
        "sm__throughput.avg.pct_of_peak_sustained_elapsed",
        "smsp__warps_active.avg.peak_sustained",
        "smsp__issue_active.avg.per_cycle_active",
        "lts__t_sector_hit_rate.pct",
        "smsp__average_warp_latency_per_inst_issued.ratio",
    ],
)
def test_right_endings(name: str) -> None:
    """Roll-ups, rates, parts of peaks, and those of ratios."""
    assert wrong_ending(name) == ""


@pytest.mark.parametrize("ending", ["mean", "avg.pct", "sum.sum", "", "avg.per_cycle"])
def test_wrong_endings_are_answered_with_right_ones(ending: str) -> None:
    """A slip in the second half of a name is a slip."""
    assert ".sum, .avg" in wrong_ending(f"sm__cycles_active.{ending}")


@pytest.mark.parametrize(
    ("text", "chip"),
    [
        ("GH100", "gh100"),
        ("9.0", "gh100"),
        ("sm_90a", "gh100"),
        ("sm75", "tu102"),
        ("12.0", "gb202"),
        ("sm_100", "gb100"),
        ("3.5", "3.5"),
        ("h100", "h100"),
    ],
)
def test_a_chip_by_its_compute_capability(text: str, chip: str) -> None:
    """As compilers write it, or as ncu does; what is neither stays."""
    assert chip_of(text) == chip
