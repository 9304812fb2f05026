"""Pages as ncu 2025.3 exported them: each figure is that of the report."""

from __future__ import annotations

import pytest

from tailwave.model import KernelProfile
from tests.profiles.ncu.real_pages import page, profiles
from tests.profiles.rules.profiles import kept

EXACT = profiles(page("planted_faults.raw.base"))
DETAILS = profiles(page("planted_faults.details"))
REPORT = kept("planted_faults")
NUMBERS = range(len(EXACT))
# Three digits of a value in thousands: 1.02 Kbyte for 1024 bytes.
SCALED = 0.005


def numbers_of(profile: KernelProfile) -> dict[str, float]:
    """Return the counters that have a number."""
    values = ((name, profile.value(name)) for name in profile.counters)
    return {name: value for name, value in values if value is not None}


@pytest.mark.parametrize("name", ["planted_faults.raw", "planted_faults.raw.base"])
def test_a_raw_page_has_what_the_rules_look_at(name: str) -> None:
    """All counters that are kept of the report, the device, the shapes; no rules."""
    for read, report in zip(profiles(page(name)), REPORT, strict=True):
        assert (read.name, read.grid, read.block) == (report.name, report.grid, report.block)
        assert read.device == report.device
        assert read.rules == ()
        wanted = numbers_of(report)
        found = numbers_of(read)
        assert {n: found[n] for n in wanted} == pytest.approx(wanted, rel=SCALED, abs=0.0051)


@pytest.mark.parametrize("number", NUMBERS)
def test_the_details_page_is_the_raw_page_under_labels(number: int) -> None:
    """Each label stands for its metric: they say the same, but for the page's rounding."""
    exact, found = numbers_of(EXACT[number]), numbers_of(DETAILS[number])
    metrics = {name: value for name, value in found.items() if "__" in name}
    assert len(metrics) >= 35
    for name, value in metrics.items():
        assert value == pytest.approx(exact[name], rel=SCALED, abs=0.0051), name


@pytest.mark.parametrize("number", NUMBERS)
def test_rules_of_the_page_are_those_of_the_report(number: int) -> None:
    """Name, scope and estimate; the page has no column for a rule's title."""
    found, wanted = (
        sorted((r.name, r.scope, r.speedup) for r in rules if r.speedup)
        for rules in (DETAILS[number].rules, REPORT[number].rules)
    )
    assert [one[:2] for one in found] == [one[:2] for one in wanted]
    assert [one[2] for one in found] == pytest.approx([one[2] for one in wanted], rel=5e-4)
    assert {rule.title for rule in DETAILS[number].rules} == {""}


def test_what_ncu_has_no_data_for_has_no_value() -> None:
    """It writes that in words."""
    assert EXACT[0].why_missing("sass__inst_executed_register_spilling_mem_local") == (
        "ncu wrote no data"
    )


def test_the_device_of_a_details_page_has_no_name() -> None:
    """Its compute capability and its SMs are there."""
    device = DETAILS[0].device
    assert device is not None
    assert (device.name, device.compute_major, device.compute_minor, device.sm_count) == (
        *("", 9, 0),
        132,
    )
