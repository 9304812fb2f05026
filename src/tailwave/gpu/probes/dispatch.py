"""How fast, and how evenly, does the block dispatcher hand CTAs to SMs?

Published: 0.54 ns a CTA on a B300 (QuickRunCUDA); none of an A100, H100 or H200 was found.

The article says that the dispatcher slows down with the square of the number of SMs, and shows no
measurement. Here:

- ``dispatch.ns_per_cta``: the slope of the time of empty grids over their CTAs (ns), from grids so
  large that the launch itself is a small part; ``dispatch.ctas_per_clock`` is the same in cycles.
- ``dispatch.linearity`` (R squared of that fit) and ``dispatch.deviation`` (the worst relative
  distance from the line): a dispatcher that had to search would bend it.
- ``dispatch.refill_gap``: from the end of a CTA to the start of the next on that SM (ns), the mean
  over all CTAs of a grid of equal ones; this is what a small CTA pays again and again.
- ``dispatch.fairness``: CTAs that the slowest SM got through over those of the fastest; 1 is fair.
- ``dispatch.tick``: the step of the global timer (ns), which bounds how sharp the gap can be.
- ``dispatch.first_wave`` (table): for each CTA of a grid with one CTA per SM, the SM it went to and
  when it started after the first (ns): the order in which the die is filled.
"""

from __future__ import annotations

import numpy as np

from tailwave.gpu.devices.base import DeviceFailedError
from tailwave.gpu.probes.lab import Lab
from tailwave.gpu.probes.measure import Figure
from tailwave.gpu.probes.parts import Better, Headline, Part, Probe, Results
from tailwave.model import Ints
from tailwave.stats import slope

_GRIDS = (65_536, 131_072, 262_144, 524_288, 1_048_576)
_WAVES = 16
_CTA_CYCLES = 8_000


def _rate(lab: Lab) -> Results:
    figures = (
        Figure("dispatch.ns_per_cta", "ns", headline=True),
        Figure("dispatch.ctas_per_clock", "CTA/clk"),
        Figure("dispatch.linearity", "R^2", headline=True),
        Figure("dispatch.deviation", "ratio", decides=False),
    )

    def sample() -> tuple[float, ...]:
        times = [_grid_ns(lab, grid) for grid in _GRIDS]
        start, per_cta, fit = slope(_GRIDS, times)
        off = max(abs(t / (start + per_cta * g) - 1) for g, t in zip(_GRIDS, times, strict=True))
        if per_cta <= 0:
            raise DeviceFailedError("Larger grids took no longer: the grids did not run.")
        return per_cta, 1000 / (per_cta * lab.clock_mhz()), fit, off

    yield from lab.measure_together(figures, sample)


def _grid_ns(lab: Lab, grid: int) -> float:
    return lab.finished_us(lambda: lab.run("empty", grid, 32)) * 1000


def _refill(lab: Lab) -> Results:
    figures = (
        Figure("dispatch.refill_gap", "ns", headline=True),
        Figure("dispatch.fairness", "ratio", headline=True),
    )

    def sample() -> tuple[float, float]:
        sms, starts, ends = _stamps(lab, _WAVES * lab.sm_count)
        counts = np.unique(sms, return_counts=True)[1]
        return refill_gap(sms, starts, ends), float(counts.min() / counts.max())

    yield from lab.measure_together(figures, sample)


def refill_gap(sms: Ints, starts: Ints, ends: Ints) -> float:
    """Return the mean time from a CTA's end to the next start on its SM."""
    order = np.lexsort((starts, sms))
    same = np.diff(sms[order]) == 0
    gaps = (starts[order][1:] - ends[order][:-1])[same]
    if len(gaps) == 0:
        raise DeviceFailedError("No SM ran two CTAs in a row.")
    return float(gaps.mean())


def _stamps(lab: Lab, grid: int) -> tuple[Ints, Ints, Ints]:
    """Run CTAs that fill an SM each; returns SM, start and end (ns) by CTA."""
    words = lab.output(4 * grid, "stamp", grid, 32, _CTA_CYCLES, shared=-1)
    sms, starts, ends, _ = words.reshape(grid, 4).astype(np.int64).T
    return sms, starts, ends


def _first_wave(lab: Lab) -> Results:
    sms, starts, _ = _stamps(lab, lab.sm_count)
    rows = np.array([sms, starts - starts.min()], dtype=np.float64).T.tolist()
    yield lab.table("dispatch.first_wave", "", ("sm", "start_ns"), dict(enumerate(rows)))


def _tick(lab: Lab) -> Results:
    yield lab.summed_up(Figure("dispatch.tick", "ns"), [lab.tick_ns])


HEADLINES = {
    "dispatch.ns_per_cta": Headline(
        "handing a CTA to an SM",
        Better.LESS,
        "what grids of very many small CTAs cost before any work",
    ),
    "dispatch.linearity": Headline(
        "the straightness of dispatch",
        Better.MORE,
        "whether large grids pay more for each CTA than small ones",
    ),
    "dispatch.refill_gap": Headline(
        "the gap between two CTAs of an SM",
        Better.LESS,
        "how short a CTA may be before an SM waits more than it works",
    ),
    "dispatch.fairness": Headline(
        "the slowest SM's share of CTAs", Better.MORE, "how long the whole grid waits for one SM"
    ),
}
PROBE = Probe(
    "dispatch",
    (
        Part(
            (
                "dispatch.ns_per_cta",
                "dispatch.ctas_per_clock",
                "dispatch.linearity",
                "dispatch.deviation",
            ),
            _rate,
        ),
        Part(("dispatch.refill_gap", "dispatch.fairness"), _refill),
        Part(("dispatch.tick",), _tick),
        Part(("dispatch.first_wave",), _first_wave),
    ),
    HEADLINES,
)
