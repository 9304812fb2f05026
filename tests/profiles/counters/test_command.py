"""The command line of ncu."""

from __future__ import annotations

from tailwave.profiles.counters.command import ncu_command


def test_counters_are_given_once_each() -> None:
    """In the order asked for, for one report."""
    assert ncu_command(["a__b.sum", "c__d.avg", "a__b.sum"]) == (
        "ncu --metrics a__b.sum,c__d.avg -o kernels YOUR_PROGRAM"
    )


def test_the_launchs_properties_come_by_section() -> None:
    """What is no counter is recorded by the sections that hold it."""
    assert ncu_command(["launch__grid_size", "a__b.sum"]) == (
        "ncu --section LaunchStats --section Occupancy --metrics a__b.sum -o kernels YOUR_PROGRAM"
    )
