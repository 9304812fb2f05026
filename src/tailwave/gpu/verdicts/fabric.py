"""What do many SMs get that ask L2 at once?

Published, reads of an H100 PCIe: a TPC 1.95 and a GPC 9.10 times what one SM gets (GPUNetBench).

Bounds on any GPU:

- A TPC carries no less than one SM, a GPC no less than one of its TPCs, and the whole chip no less
  than one GPC. A fabric that carries less the more it is asked collapses (CRITICAL).
- With all SMs reading, the SMs of a GPC share its port, and those of the largest get as much less
  than those of the smallest as there are more of them. An SM keeps so many reads on their way, so
  it gets less by as much as its way to L2 is longer (Little's law). A slower SM than both together
  explain is slowed by something else (WARNING).
- An arbiter that serves in turn lets a read wait for one of each other SM at most. A read beside
  ``k`` readers that takes more than ``k`` + 1 times as long as alone is starved (CRITICAL).
"""

from __future__ import annotations

from itertools import pairwise

import msgspec

from tailwave.gpu.headlines import RESOLUTION
from tailwave.gpu.verdicts.criteria import divided, quotient, times, within
from tailwave.gpu.verdicts.measurements import Measurements, amounts, duration, listed, sentences
from tailwave.model import Criterion, Health, Measurement

LINK = "fabric"
PROBES = ("topology", "fabric")
_OPS = ("read", "write")
# Larger and larger groups of SMs: the figure's last word, and what the group is called.
_GROUPS = (("tpc", "a TPC"), ("gpc", "a GPC"), ("chip", "the whole chip"))
_PLACES = {"same_gpc": "in its GPC", "other_gpcs": "in other GPCs"}


def criteria(figures: Measurements) -> tuple[Criterion, ...]:
    """Hold groups against smaller ones, SMs against each other, loaded reads against free ones."""
    return (
        *(criterion for op in _OPS for criterion in _growth(figures, op)),
        _fairness(figures),
        *(_loaded(figures, where) for where in ("same_gpc", "other_gpcs")),
    )


def _growth(figures: Measurements, op: str) -> tuple[Criterion, ...]:
    speedups = [(figures.get(f"fabric.speedup_{name}", op=op), words) for name, words in _GROUPS]
    (smallest, its_words), *_ = speedups
    speedup = times(smallest, 1, "x")
    first = within(f"bandwidth of {its_words} against one SM ({op})", speedup, least=1.0)
    further = [
        quotient(f"bandwidth of {words} against {less_words} ({op})", more, less, least=1.0)
        for (less, less_words), (more, words) in pairwise(speedups)
    ]
    return (first, *further)


def _fairness(figures: Measurements) -> Criterion:
    what = "the slowest SM against the fastest, all reading"
    sizes = divided(figures.get("topology.smallest_gpc"), figures.get("topology.largest_gpc"))
    ways = figures.get("l2.latency_mean")  # its samples are the means of the SMs
    if sizes.value is None:
        return within(what, sizes)
    if not ways.samples:
        return within(what, msgspec.structs.replace(ways, value=None))
    distance = min(ways.samples) / max(ways.samples)
    least = sizes.value * distance * (1 - RESOLUTION)
    return within(what, figures.get("fabric.fairness"), least=least, breach=Health.WARNING)


def _loaded(figures: Measurements, where: str) -> Criterion:
    loaded = _beside_all(figures, where, "p99")
    aggressors = float(loaded.parameters.get("aggressors", 0))
    return quotient(
        f"a read beside {aggressors:.0f} busy SMs ({_PLACES[where]}) against one alone, p99",
        loaded,
        _alone(figures, "p99"),
        most=aggressors + 1,
    )


def _beside_all(figures: Measurements, where: str, quantile: str) -> Measurement:
    """Return the latency beside the most aggressors that there were."""
    return figures.get("fabric.loaded_latency", where=where, quantile=quantile)


def _alone(figures: Measurements, quantile: str) -> Measurement:
    return figures.get("fabric.loaded_latency", aggressors=0, quantile=quantile)


def claim(figures: Measurements) -> str:
    """Word what one SM and all of them get."""
    return listed(
        ("an SM alone", figures.get("fabric.single_sm", op="read")),
        ("all SMs", times(figures.get("fabric.speedup_chip", op="read"), 1, "times that")),
    )


def meaning(figures: Measurements) -> str:
    """Say how far reads scale, and what a neighbour's reads cost."""
    chip = figures.get("fabric.speedup_chip", op="read")
    free, loaded = _alone(figures, "p50"), _beside_all(figures, "other_gpcs", "p50")
    alone, busy = amounts(duration(free), duration(loaded))
    sms = chip.parameters.get("sms", "the")
    return sentences(
        (f"All {sms} SMs together read L2 {chip.value or 0:.0f} times as fast as one.", (chip,)),
        (f"A read of L2 takes {alone}, and {busy} while all others read.", (free, loaded)),
    )
