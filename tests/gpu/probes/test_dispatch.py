"""Dispatch on a device of round numbers: the slope of grids, and who ran how many CTAs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tailwave.gpu.devices.base import Launch, Stream
from tailwave.gpu.probes import run_probes
from tailwave.model import Measurement, Status, Table
from tests.gpu.probes.fake import CLOCK_MHZ, CTA_PS, FakeDevice, write

GRIDS = (65_536, 131_072, 262_144, 524_288, 1_048_576)


def stamps(launch: Launch) -> None:
    """Give 20 of 32 CTAs to SM 0 and 12 to SM 1, each of 100 ns, 20 ns after the last there."""
    ran = [0, 0]
    words = []
    for cta in range(launch.grid):
        sm = 0 if cta % 8 in {0, 1, 2, 4, 6} else 1
        start = 1_000 + 40 * sm + 120 * ran[sm]
        ran[sm] += 1
        words += [sm, start, start + 100, 0]
    write(launch, words)


class Timed(FakeDevice):
    """A device on which an empty grid takes as long as a function of its CTAs says (ns)."""

    def __init__(self, busy_ns: Callable[[int], float]) -> None:
        """Take the function."""
        super().__init__({"stamp": stamps})
        self._busy_ns = busy_ns

    def launch(self, stream: Stream, launch: Launch) -> None:
        """Run an empty grid for as long as was said, and what is read back in no time."""
        assert stream
        if launch.kernel == "empty":
            self.work(0, round(self._busy_ns(launch.grid)))
        else:
            self._kernels[launch.kernel](launch)


def found(device: FakeDevice) -> dict[str, Measurement | Table]:
    """Run the probe."""
    return {result.name: result for result in run_probes(device, quick=True, only=["dispatch"])}


def value(device: FakeDevice, name: str) -> float | None:
    """Return a figure of the probe."""
    figure = found(device)[name]
    assert isinstance(figure, Measurement)
    return figure.value


def test_a_cta_costs_the_slope_of_grids() -> None:
    """Whatever a grid costs that is not by the CTA; in time, and in cycles of the clock."""
    device = Timed(lambda grid: 5_000 + grid * CTA_PS / 1_000)
    assert value(device, "dispatch.ns_per_cta") == pytest.approx(CTA_PS / 1000, rel=1e-5)
    assert value(device, "dispatch.ctas_per_clock") == pytest.approx(
        1e6 / CTA_PS / CLOCK_MHZ, rel=1e-5
    )
    assert value(device, "dispatch.linearity") == pytest.approx(1.0)
    assert value(device, "dispatch.deviation") == pytest.approx(0.0, abs=1e-4)


def test_a_bend_is_how_far_the_worst_grid_is_off() -> None:
    """Relative to what the line through all of them says that it should take."""
    times = [50_000 + grid + (30_000 if grid == GRIDS[1] else 0) for grid in GRIDS]
    per_cta, start = np.polyfit(GRIDS, [time + 1_000 for time in times], 1)  # and the wake-up
    lines = [start + per_cta * grid for grid in GRIDS]
    worst = max(abs((t + 1_000) / line - 1) for t, line in zip(times, lines, strict=True))
    device = Timed(lambda grid: times[GRIDS.index(grid)])
    assert value(device, "dispatch.deviation") == pytest.approx(worst)
    assert worst == pytest.approx(0.107, abs=0.001)


def test_grids_that_did_not_run_have_no_rate() -> None:
    """A time that does not grow with the grid is no dispatch."""
    figure = found(Timed(lambda _: 5_000))["dispatch.ns_per_cta"]
    assert isinstance(figure, Measurement)
    assert (figure.status, figure.reason) == (
        Status.FAILED,
        "Larger grids took no longer: the grids did not run.",
    )


def test_refills_and_fairness() -> None:
    """The gap between two CTAs of an SM, and the fewest CTAs of an SM over the most."""
    device = FakeDevice({"stamp": stamps})
    assert value(device, "dispatch.refill_gap") == 20.0
    assert value(device, "dispatch.fairness") == 12 / 20


def test_ctas_that_are_all_alone_have_no_gap() -> None:
    """Where each ran on an SM of its own, no SM was refilled."""

    def alone(launch: Launch) -> None:
        write(launch, [word for cta in range(launch.grid) for word in (cta, 10, 20, 0)])

    figure = found(FakeDevice({"stamp": alone}))["dispatch.refill_gap"]
    assert isinstance(figure, Measurement)
    assert (figure.status, figure.reason) == (Status.FAILED, "No SM ran two CTAs in a row.")


def test_the_first_wave_counts_from_its_first_cta() -> None:
    """For each CTA its SM, and how long after the first it started."""
    table = found(FakeDevice({"stamp": stamps}))["dispatch.first_wave"]
    assert isinstance(table, Table)
    assert (table.rows, table.columns) == (("0", "1"), ("sm", "start_ns"))
    assert table.values == ((0.0, 0.0), (0.0, 120.0))
