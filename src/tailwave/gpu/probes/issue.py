"""How well does an SM's warp scheduler fill its issue slots, and what do barriers cost?

Published: an FMA takes 4 cycles (Volta and later); ``__syncthreads`` of 256 and 1,024 threads 28
and 77 cycles on a B300 (QuickRunCUDA), 37 and 85 on an A100 (SyncPerformance).

The article's "warp scheduling stress" kernel (WSP) made real: its shared-memory store was dead code
and its ratio of two counters has no meaning. Here each of an SM's four schedulers gets 1 to 16
warps of one kind of work, and what is counted is work done in cycles:

- ``issue.slots``: instructions that a scheduler issued per cycle (of at most 1), by ``kind`` of
  work and ``warps_per_scheduler``. Independent FMAs fill the slots with few warps; dependent ones
  need as many warps as the FMA has cycles of latency; warps that sleep or wait leave them empty.
- ``issue.gap``: cycles from one instruction of a scheduler to its next, the reciprocal; for one
  warp of dependent FMAs it is the latency of an FMA.
- ``issue.barrier``: cycles of one ``__syncthreads`` by ``warps`` in the CTA.

A figure is the median over all SMs, each running one CTA (two for 16 warps).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np

from tailwave.gpu.devices.base import DeviceFailedError, NotSupportedError
from tailwave.gpu.probes.lab import Lab
from tailwave.gpu.probes.measure import Figure
from tailwave.gpu.probes.parts import Better, Headline, Part, Probe, Results
from tailwave.model import Ints, Measurement, Parameters

_SCHEDULERS = 4
_WARP = 32
_CTA_WARPS = 32
_WARPS_PER_SCHEDULER = (1, 2, 4, 8, 16)
# Each kind's number in the kernel, and iterations: so many that starting up is a percent of them.
_KINDS: Final = {
    "independent": (0, 8192),
    "dependent": (1, 8192),
    "sleep": (2, 64),
    "barrier": (3, 512),
}
# A scheduler issues one instruction in a cycle; what looks faster ran one CTA after the other.
_LEAST_GAP = 0.98
_HEADLINES: Final = {("independent", 8), ("dependent", 1)}
_BARRIER_WARPS = (2, 4, 8, 16, 32)
_BARRIER_HEADLINES = (8, 32)


def _slots(lab: Lab) -> Results:
    for kind in _KINDS:
        for warps in _WARPS_PER_SCHEDULER:
            yield from _slots_of(lab, kind, warps)


def _slots_of(lab: Lab, kind: str, warps: int) -> Iterator[Measurement]:
    parameters: Parameters = {"kind": kind, "warps_per_scheduler": warps}
    headline = (kind, warps) in _HEADLINES
    figures = (
        Figure("issue.slots", "1/clk", parameters, headline),
        Figure("issue.gap", "clk", parameters, headline),
    )

    def sample() -> tuple[float, float]:
        _, iterations = _KINDS[kind]
        gap = _cycles(lab, kind, warps * _SCHEDULERS) / (warps * iterations)
        if gap < _LEAST_GAP:
            raise DeviceFailedError(f"The {warps} warps of a scheduler did not all run at once.")
        return 1 / gap, gap

    yield from lab.measure_together(figures, sample)


def _cycles(lab: Lab, kind: str, warps: int) -> float:
    """Return the cycles of an SM with so many warps, the median over SMs."""
    ctas = -(-warps // _CTA_WARPS)
    threads = warps // ctas * _WARP
    if ctas * threads > lab.device.facts.max_threads_per_sm > 0:
        raise NotSupportedError(f"An SM of this device does not hold {warps} warps.")
    number, iterations = _KINDS[kind]
    grid = ctas * lab.sm_count
    shared = -1 if ctas == 1 else 0
    words = lab.output(3 * grid, "issue", grid, threads, number, iterations, shared=shared)
    sms, starts, ends = words.reshape(grid, 3).astype(np.int64).T
    return median_of_full(sms, starts, ends, ctas)


def median_of_full(sms: Ints, starts: Ints, ends: Ints, ctas: int) -> float:
    """Return the cycles that SMs with just so many CTAs took for them, the median over SMs.

    From the first start to the last end, for an SM may let one CTA run ahead of the other.
    """
    found, counts = np.unique(sms, return_counts=True)
    cycles = [int(ends[sms == sm].max() - starts[sms == sm].min()) for sm in found[counts == ctas]]
    if not cycles or min(cycles) <= 0:
        raise DeviceFailedError("No SM ran the warps that were asked for.")
    return float(np.median(cycles))


def _barriers(lab: Lab) -> Results:
    for warps in _BARRIER_WARPS:
        yield lab.measure(
            "issue.barrier",
            "clk",
            partial(_barrier_cycles, lab, warps),
            parameters={"warps": warps},
            headline=warps in _BARRIER_HEADLINES,
        )


def _barrier_cycles(lab: Lab, warps: int) -> float:
    return _cycles(lab, "barrier", warps) / _KINDS["barrier"][1]


HEADLINES = {
    "issue.slots": Headline(
        "the issue slots used", Better.MORE, "how much arithmetic an SM does in a cycle"
    ),
    "issue.gap": Headline(
        "the cycles between two instructions of a scheduler",
        Better.LESS,
        "how many warps hide the latency of arithmetic",
    ),
    "issue.barrier": Headline(
        "a barrier",
        Better.LESS,
        "what kernels pay that synchronise their CTAs often, such as reductions",
    ),
}
PROBE = Probe(
    "issue",
    (Part(("issue.slots", "issue.gap"), _slots), Part(("issue.barrier",), _barriers)),
    HEADLINES,
)
