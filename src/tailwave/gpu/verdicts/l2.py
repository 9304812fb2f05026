"""What does L2 give, and what does it cost SMs to share a line?

Published: H100 SXM 291 cycles (AI_kernels), H100 PCIe 7.1 TB/s.

Bounds on any GPU:

- Data that fit L2 are read at least as fast as data that do not, or L2 brings nothing (CRITICAL).
- A line that n SMs poll is read by each once, so at worst one after the other: the last has seen a
  write after n times what a single one takes (WARNING).
"""

from __future__ import annotations

from tailwave.gpu.verdicts.criteria import divided, quotient
from tailwave.gpu.verdicts.measurements import Measurements, amount, duration, listed, sentences
from tailwave.model import Criterion, Health, Measurement

LINK = "l2"
PROBES = ("l2",)


def criteria(figures: Measurements) -> tuple[Criterion, ...]:
    """Hold L2 against memory, and many pollers against one."""
    return (_cached(figures), _polled(figures))


def _cached(figures: Measurements) -> Criterion:
    fitting, beyond = _bandwidths(figures)
    return quotient(
        "bandwidth of data that fit L2 against data that do not", fitting, beyond, least=1.0
    )


def _bandwidths(figures: Measurements) -> tuple[Measurement, Measurement]:
    """Return the bandwidth of the headline working set, and of the largest."""
    sizes = figures.all("l2.bandwidth")
    largest = max(sizes, key=_mib, default=figures.get("l2.bandwidth"))
    return figures.get("l2.bandwidth"), largest


def _mib(figure: Measurement) -> float:
    return float(figure.parameters.get("mib", 0))


def _polled(figures: Measurements) -> Criterion:
    every = figures.get("l2.poll")
    pollers = float(every.parameters.get("pollers", 1))
    return quotient(
        f"a write seen by {pollers:.0f} polling SMs against one",
        every,
        figures.get("l2.poll", pollers=1),
        most=pollers,
        breach=Health.WARNING,
    )


def claim(figures: Measurements) -> str:
    """Word latency and bandwidth."""
    return listed(
        ("latency", figures.get("l2.latency_mean")),
        ("in L2", _bandwidths(figures)[0]),
        ("beyond", _bandwidths(figures)[1]),
    )


def meaning(figures: Measurements) -> str:
    """Say what fitting L2 is worth, and what a flag costs."""
    fitting, beyond = _bandwidths(figures)
    gain = divided(fitting, beyond)
    flag = figures.get("l2.share", where="other_gpc")
    return sentences(
        (f"A working set that fits L2 is read {gain.value or 0:.1f} times as fast.", (gain,)),
        (f"A flag to another SM and back takes {amount(duration(flag))}.", (flag,)),
    )
