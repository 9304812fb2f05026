"""What a profile says beyond what is written: derived counters, shapes, the device."""

from __future__ import annotations

import pytest

from tailwave.model import Counter
from tailwave.profiles.ncu.profile import LaunchRecord, profile_of

DEVICE_SMS = "device__attribute_multiprocessor_count"


def counters(**values: float) -> dict[str, Counter]:
    """Make counters of names in which __ at the end stands for a full stop and a roll-up."""
    return {name.replace("_DOT_", "."): Counter(float(value)) for name, value in values.items()}


def sm_count(**values: float) -> Counter | None:
    """Return the SM count of a launch with these counters."""
    profile = profile_of(LaunchRecord(names=("k",), counters=counters(**values)), 0)
    return profile.counters.get("launch__sm_count")


def test_the_launch_s_own_sm_count_stands() -> None:
    """A partition has fewer SMs than the device."""
    got = sm_count(launch__sm_count=16, device__attribute_multiprocessor_count=132)
    assert got == Counter(16.0)


def test_an_older_report_has_the_device_s_sm_count() -> None:
    """The launch could use all SMs there."""
    got = sm_count(device__attribute_multiprocessor_count=108)
    assert got == Counter(108.0, "SM", source=DEVICE_SMS)


def test_a_sum_over_sms_counts_them() -> None:
    """The sum over the average is how many were summed, but for rounding."""
    got = sm_count(sm__cycles_elapsed_DOT_sum=13200003, sm__cycles_elapsed_DOT_avg=100000.02)
    assert got == Counter(132.0, "SM", source="sm__cycles_elapsed.sum / sm__cycles_elapsed.avg")


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"sm__cycles_elapsed_DOT_sum": 1000, "sm__cycles_elapsed_DOT_avg": 300},
        {"sm__cycles_elapsed_DOT_sum": 0, "sm__cycles_elapsed_DOT_avg": 0},
        {"sm__cycles_elapsed_DOT_sum": 1000},
        {"device__attribute_multiprocessor_count": 132, "launch__uses_green_context": 1},
    ],
)
def test_an_sm_count_that_follows_from_nothing_is_not_known(values: dict[str, float]) -> None:
    """No quotient, none that is whole, or a green context of unknown size."""
    assert sm_count(**values) is None


def test_shapes_come_from_counters_where_no_column_has_them() -> None:
    """All three sizes, or none."""
    sizes = {
        f"launch__block_dim_{axis}": size for axis, size in zip("xyz", (32, 4, 2), strict=True)
    }
    launch = LaunchRecord(names=(), counters=counters(**sizes, launch__grid_dim_x=7))
    profile = profile_of(launch, 3)
    assert (profile.block, profile.grid) == ((32, 4, 2), None)
    assert (profile.name, profile.launch) == ("", 3)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, Counter(75.0, "cycle", source="sm__cycles_elapsed.sum / launch__sm_count")),
        ({"sm__cycles_elapsed_DOT_avg": 74.5}, Counter(74.5)),
        ({"launch__uses_green_context": 1}, None),
    ],
)
def test_elapsed_cycles_of_the_average_sm(more: dict[str, float], expected: Counter | None) -> None:
    """Of their sum, unless the file has them, or the launch had not all SMs of the device."""
    values = {"sm__cycles_elapsed_DOT_sum": 300, "launch__sm_count": 4, **more}
    profile = profile_of(LaunchRecord(names=("k",), counters=counters(**values)), 0)
    assert profile.counters.get("sm__cycles_elapsed.avg") == expected


def test_nothing_known_is_none() -> None:
    """A launch of which only the name is known has no device, stream or memory of 0."""
    profile = profile_of(LaunchRecord(names=("k",), counters={}), 0)
    unknown = (profile.grid, profile.registers, profile.device, profile.stream, profile.process_id)
    assert unknown == (None,) * 5
    assert (profile.dynamic_shared, profile.static_shared, profile.context) == (None,) * 3


def test_a_value_of_several_names() -> None:
    """The first that has a number is it."""
    named = {"a": Counter(None, reason="n/a"), "b": Counter("word"), "c": Counter(3.0)}
    profile = profile_of(LaunchRecord(names=("k",), counters=named), 0)
    assert profile.value("x", "a", "b", "c") == 3.0
    assert profile.value("x", "a", "b") is None
    assert profile.value() is None
