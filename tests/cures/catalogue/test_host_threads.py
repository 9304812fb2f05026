"""Threads on the CPU: as many as the cores allow, read back from PyTorch."""

from __future__ import annotations

import pytest

from tailwave.cures.catalogue import host_threads
from tailwave.cures.catalogue.base import Change, Setting
from tailwave.errors import UsageError
from tests.cures.catalogue.cases import PLAIN, reading


@pytest.mark.parametrize(
    ("cpus", "gpus", "guesses"),
    [(16, 1, ("8", "1")), (16, 4, ("2", "1")), (2, 1, ("1",)), (1, 1, ("1",)), (8, 0, ("8", "1"))],
)
def test_it_guesses_half_of_a_gpus_cores(cpus: int, gpus: int, guesses: tuple[str, ...]) -> None:
    """And one thread; never none."""
    setting = Setting(environment={}, cpus=cpus, gpus=gpus)
    assert host_threads.parameters(setting) == guesses


def test_it_sets_both_variables() -> None:
    """OpenMP's and MKL's."""
    change = Change({"OMP_NUM_THREADS": "4", "MKL_NUM_THREADS": "4"})
    assert host_threads.change("4", PLAIN) == change
    assert host_threads.lines("4") == ("export OMP_NUM_THREADS=4", "export MKL_NUM_THREADS=4")


def test_no_threads_is_a_usage_error() -> None:
    """There is always one."""
    with pytest.raises(UsageError, match="whole number from 1"):
        host_threads.change("0", PLAIN)


def test_it_is_not_tried_where_both_are_set_so() -> None:
    """One of the two is not enough."""
    both = Setting(environment={"OMP_NUM_THREADS": "4", "MKL_NUM_THREADS": "4"})
    assert host_threads.why_not("4", both) == (
        "The program already runs with OMP_NUM_THREADS=4 and MKL_NUM_THREADS=4."
    )
    assert host_threads.why_not("4", Setting(environment={"OMP_NUM_THREADS": "4"})) == ""


def test_it_is_seen_by_what_pytorch_says() -> None:
    """A program that sets its threads itself is told."""
    assert host_threads.seen("4", [reading(threads=4)]).works is True
    assert host_threads.seen("4", [reading(threads=16)]) == (
        False,
        "OMP_NUM_THREADS was set, yet inside the program it is 16.",
    )
