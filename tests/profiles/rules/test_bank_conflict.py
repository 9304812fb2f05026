"""Conflicts in the banks of shared memory."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tailwave.profiles.rules import bank_conflict
from tests.profiles.rules.profiles import ELAPSED, absent, evidence, find, found, made, missing

CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
ACTUAL, IDEAL = "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"


def test_cycles_lost_are_the_excess_of_each_sm() -> None:
    """Of 132 SMs each serves a wavefront a cycle: 40,000 in excess are 40% of 100,000 cycles."""
    cause = found(bank_conflict, made({ACTUAL: 132 * 50_000.0, IDEAL: 132 * 10_000.0}))
    assert cause.share == pytest.approx(0.4)
    assert evidence(cause, "conflicts per wavefront") == pytest.approx(0.8)
    assert evidence(cause, "lost on each SM") == 0.4 * ELAPSED
    assert "5 times the wavefronts" in cause.claim


@pytest.mark.parametrize(
    ("capability", "cycles"), [((7, 0), 1), ((7, 5), 2), ((8, 0), 1), ((8, 6), 1), ((0, 0), 1)]
)
def test_turing_takes_two_cycles_a_wavefront(capability: tuple[int, int], cycles: int) -> None:
    """20,000 in excess on each SM."""
    profile = made({ACTUAL: 132 * 30_000.0, IDEAL: 132 * 10_000.0})
    assert profile.device is not None
    major, minor = capability
    device = replace(profile.device, compute_major=major, compute_minor=minor)
    cause = found(bank_conflict, replace(profile, device=device))
    assert cause.share == pytest.approx(0.2 * cycles)
    assert evidence(cause, "lost on each SM") == 20_000 * cycles
    assert found(bank_conflict, replace(profile, device=None)).share == pytest.approx(0.2)


def test_the_hardwares_counters_do_as_well() -> None:
    """Without counters by instruction, conflicts and wavefronts of the data stage are taken."""
    cause = found(bank_conflict, made({f"{CONFLICTS}.sum": 132e4, WAVEFRONTS: 264e4}))
    assert cause.share == pytest.approx(0.1)
    assert evidence(cause, "conflicts per wavefront") == 0.5


def test_older_chips_count_by_operation() -> None:
    """Where the sum over operations is not given, loads, stores and atomics are added up."""
    parts = {f"{CONFLICTS}_op_ld.sum": 66e4, f"{CONFLICTS}_op_st.sum": 66e4}
    assert found(bank_conflict, made({**parts, WAVEFRONTS: 264e4})).share == pytest.approx(0.1)


def test_no_conflicts_are_no_finding_and_are_said() -> None:
    """As many wavefronts as needed: nothing to cure, and the kernel tells nothing of conflicts."""
    profile = made({ACTUAL: 5.0, IDEAL: 5.0})
    assert find(bank_conflict, profile) is None
    assert absent(bank_conflict, profile) == "shared-memory bank conflicts (none: 5 wavefronts)"


def test_without_counters_nothing_is_said() -> None:
    """The counter to record is named."""
    assert missing(bank_conflict, made()) == f"{CONFLICTS}.sum"
    assert missing(bank_conflict, made({f"{CONFLICTS}.sum": 5.0})) == WAVEFRONTS


def test_more_conflicts_than_wavefronts_are_all_of_them() -> None:
    """Counters of two passes: a wavefront conflicts once at most."""
    cause = found(bank_conflict, made({f"{CONFLICTS}.sum": 132e4, WAVEFRONTS: 131e4}))
    assert evidence(cause, "conflicts per wavefront") == 1.0
