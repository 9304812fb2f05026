"""CTAs that poll until others have arrived."""

from __future__ import annotations

import pytest

from tailwave.profiles.rules import spin_wait
from tests.profiles.rules.profiles import evidence, find, found, made, missing

REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"
LOADS, ATOMICS = REQUESTS.format("ld"), REQUESTS.format("red")
READ, HITS = "lts__t_sectors_srcunit_tex_op_read.sum", "l1tex__t_sector_hit_rate.pct"
POLLING = {LOADS: 4000.0, ATOMICS: 132.0, READ: 4000.0, HITS: 0.0}
STALLS = {"barrier": 0.5, "long_scoreboard": 0.25, "wait": 0.25}
GRID = (132, 1, 1)


def test_all_signs_together_are_polling() -> None:
    """Idle for 80% of cycles, three quarters of that in waits that polling brings."""
    cause = found(spin_wait, made(POLLING, STALLS, grid=GRID))
    assert cause.share == pytest.approx(0.6)
    assert evidence(cause, "atomics per CTA") == 1


@pytest.mark.parametrize(
    "sign",
    [
        {ATOMICS: 131.0},  # not every CTA announces itself
        {LOADS: 131.0, READ: 131.0},  # nor looks
        {READ: 4001.0},  # loads bring more than a word
        {HITS: 50.0},  # loads are served by the L1, where a flag never changes
        {"launch__occupancy_limit_registers": 0.5},  # CTAs wait their turn
    ],
    ids=["atomics", "loads", "words", "cached", "resident"],
)
def test_a_sign_that_is_not_there_clears_the_kernel(sign: dict[str, float]) -> None:
    """Each sign alone, just beyond its edge."""
    assert find(spin_wait, made({**POLLING, **sign}, STALLS, grid=GRID)) is None


@pytest.mark.parametrize(("waiting", "clear"), [(0.5, False), (0.49, True)])
def test_warps_that_mostly_work_do_not_poll(waiting: float, *, clear: bool) -> None:
    """Half of the warps' time, at least, is waiting."""
    stalls = {"barrier": waiting, "wait": 1 - waiting}
    assert (find(spin_wait, made(POLLING, stalls, grid=GRID)) is None) is clear


def test_what_is_missing_is_named() -> None:
    """Loads first."""
    assert missing(spin_wait, made(stalls=STALLS)) == LOADS
