"""How kernels scale with the number of SMs, by regime and to the wave."""

from __future__ import annotations

import numpy as np
import pytest

from tailwave.recordings.replay.waves import Regime, scaling

NAN = float("nan")


def _one(
    ctas: float, per_sm: float, *, persistent: bool = False, have: int = 132, count: int
) -> tuple[float, Regime]:
    scaled = scaling(
        np.array([ctas]), np.array([per_sm]), np.array([persistent], dtype=np.uint8), have, count
    )
    return float(scaled.factor[0]), Regime(int(scaled.regime[0]))


@pytest.mark.parametrize(
    ("ctas", "per_sm", "count", "waves_after", "waves_before"),
    [
        (1_320, 1, 66, 20, 10),
        (133, 1, 132, 2, 2),
        (133, 1, 133, 1, 2),
        (264, 2, 66, 2, 1),
        (265, 2, 66, 3, 2),
        (132, 1, 131, 2, 1),
        (1_320, 4, 1, 330, 3),
        (1_320, 1, 100_000, 1, 10),
    ],
)
def test_a_kernel_takes_as_long_as_its_waves(
    ctas: int, per_sm: int, count: int, waves_after: int, waves_before: int
) -> None:
    """CTAs that fit the chip run at once; the time goes with how many times that is needed."""
    factor, _ = _one(ctas, per_sm, count=count)
    assert factor == waves_after / waves_before


def test_a_grid_that_fits_both_chips_is_unaffected() -> None:
    """Sixty CTAs take as long on 64 SMs as on 132."""
    assert _one(60, 1, count=64) == (1.0, Regime.UNAFFECTED)


def test_a_grid_that_no_longer_fits_goes_by_waves() -> None:
    """A hundred CTAs take two waves on 64 SMs."""
    assert _one(100, 1, count=64) == (2.0, Regime.WAVES)


@pytest.mark.parametrize(("count", "factor"), [(66, 2.0), (100, 1.32), (264, 0.5), (1, 132.0)])
def test_a_persistent_kernel_shares_its_work_out(count: int, factor: float) -> None:
    """One CTA per SM: the time goes inversely with the SMs, without steps."""
    assert _one(132, 1, persistent=True, count=count) == (factor, Regime.PERSISTENT)


def test_a_persistent_kernel_that_leaves_sms_idle_does_not_grow() -> None:
    """One that did not fill the chip gains nothing from a larger, and loses on a smaller."""
    assert _one(100, 1, persistent=True, count=264) == (1.0, Regime.UNAFFECTED)
    assert _one(100, 1, persistent=True, count=50) == (2.0, Regime.PERSISTENT)


def test_a_library_kernel_of_several_waves_goes_by_waves() -> None:
    """A name says little: what has more CTAs than fit the chip does not size itself to it."""
    assert _one(1_320, 1, persistent=True, count=66) == (2.0, Regime.WAVES)


@pytest.mark.parametrize(("ctas", "per_sm"), [(NAN, 1.0), (132.0, NAN), (NAN, NAN)])
def test_what_is_unknown_is_unaffected(ctas: float, per_sm: float) -> None:
    """Copies, collectives and kernels of unknown shape keep their time."""
    assert _one(ctas, per_sm, persistent=True, count=1) == (1.0, Regime.UNAFFECTED)


def test_the_same_number_of_sms_changes_nothing() -> None:
    """On as many SMs as it has every kernel takes as long as before."""
    grid, fits = np.array([1.0, 131.0, 132.0, 5_000.0]), np.array([1.0, 2.0, 8.0, 3.0])
    for persistent in (0, 1):
        scaled = scaling(grid, fits, np.full(4, persistent, dtype=np.uint8), 132, 132)
        assert scaled.factor.tolist() == [1.0] * 4
        assert scaled.count(Regime.UNAFFECTED) == 4


def test_regimes_are_counted() -> None:
    """How many kernels are of each regime, for the reader to judge by."""
    scaled = scaling(
        np.array([1_320.0, 132.0, NAN]),
        np.array([1.0, 1.0, NAN]),
        np.array([0, 1, 0], dtype=np.uint8),
        132,
        66,
    )
    assert [scaled.count(regime) for regime in Regime] == [1, 1, 1]
