"""Atomics that pile up on one slice of the L2."""

from __future__ import annotations

import pytest

from tailwave.profiles.rules import atomic_contention
from tests.profiles.rules.profiles import absent, evidence, find, found, made, missing

BUSY = "lts__d_atomic_input_cycles_active.{}.pct_of_peak_sustained_elapsed"
MOST, MEAN = BUSY.format("max"), BUSY.format("avg")
REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"


def test_the_busiest_slice_is_held_against_the_mean() -> None:
    """One slice at 70%, all at 5% on average: spread out, 65% of the time goes."""
    cause = found(atomic_contention, made({MOST: 70.0, MEAN: 5.0, REQUESTS: 9.0}))
    assert cause.share == pytest.approx(0.65)
    assert evidence(cause, "for atomics") == 9


def test_atomics_spread_evenly_do_not_contend() -> None:
    """Every slice as busy as the next: nothing piles up."""
    assert find(atomic_contention, made({MOST: 60.0, MEAN: 60.0})) is None


def test_the_mean_alone_does_not_answer() -> None:
    """Files without the slices' maximum cannot tell."""
    assert missing(atomic_contention, made({MEAN: 5.0})) == MOST


@pytest.mark.parametrize(("requests", "text"), [(0.0, "atomics on global memory (none)"), (1, "")])
def test_a_kernel_without_atomics_is_said_to_have_none(requests: float, text: str) -> None:
    """No request, no atomics."""
    profile = made({MOST: 1.0, MEAN: 1.0, REQUESTS: float(requests)})
    assert absent(atomic_contention, profile) == text


def test_without_atomics_no_other_counter_is_needed() -> None:
    """What is not there cannot pile up."""
    assert missing(atomic_contention, made({REQUESTS: 0.0})) == ""
