"""Kernels that only take up their place for a while, and the clocks that they read."""

from __future__ import annotations

import numpy as np
import pytest

from tests.gpu.devices.sim.rig import CHIP, SMS, Rig


def test_spin_lasts_its_time_and_tells_the_clock() -> None:
    """Cycles over time give the SM clock."""
    rows = Rig().rows("spin", 1, 1_000_000, shared=0)
    _, start, end, cycles = (int(word) for word in rows[0])
    assert end - start == pytest.approx(1_000_000, abs=300)
    assert 1000 * cycles / (end - start) == pytest.approx(CHIP.clock.mhz, rel=1e-3)


def test_times_are_whole_ticks() -> None:
    """The global timer does not show what is between."""
    rows = Rig().rows("stamp", SMS, 12_345)
    assert set((rows[:, 1:3] % 32).ravel().tolist()) == {0}


def test_tick_gives_the_step_of_the_timer() -> None:
    """Successive values differ by 32 ns."""
    rig = Rig()
    out = rig.buffer(100)
    rig.run("tick", 1, 32, out, 100)
    assert np.unique(np.diff(out.read().astype(np.int64))).tolist() == [32]


@pytest.mark.parametrize("kernel", ["smids", "hog"])
def test_each_cta_says_where_it_ran(kernel: str) -> None:
    """With one CTA an SM, on all of them."""
    rig = Rig()
    arguments = (1000,) if kernel == "hog" else ()
    seen = rig.everywhere(kernel, 32, rig.buffer(SMS), *arguments)
    assert sorted(seen.tolist()) == list(range(SMS))


def test_an_argument_of_the_wrong_kind_is_an_error() -> None:
    """Buffers and integers are not taken for each other."""
    rig = Rig()
    rig.run("spin", 1, 32, rig.buffer(4), rig.buffer(1))
    with pytest.raises(TypeError, match="argument 1 of kernel spin must be an integer"):
        rig.device.synchronize()
    other = Rig()
    other.run("smids", 1, 32, 5)
    with pytest.raises(TypeError, match="argument 0 of kernel smids must be a buffer"):
        other.device.synchronize()
