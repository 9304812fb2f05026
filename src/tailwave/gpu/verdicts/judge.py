"""Judges every link of the chain that was asked about.

A link is held against the bounds that it knows itself, against the reference, and against its own
repeatability: the 95% interval of each headline figure is narrower than what a check promises
(``RESOLUTION``), for the timing loop goes on until it is, or until the time allowed is over. A
GPU's own figures are counted by its own clocks, so one that stays wider means that the GPU jitters.
Figures that the host has its part in are left out: what else the host does scatters them, and says
nothing about the GPU. So are the slowest runs (p99), whose scatter is the figure.
"""

from __future__ import annotations

from collections.abc import Iterable

from tailwave.gpu.headlines import HOST_SPEED, RESOLUTION, headline
from tailwave.gpu.verdicts import LINKS
from tailwave.gpu.verdicts.against_reference import against_reference
from tailwave.gpu.verdicts.criteria import within
from tailwave.gpu.verdicts.link import Link
from tailwave.gpu.verdicts.measurements import Measurements
from tailwave.model import Criterion, Health, Measurement, Reference, Status, Verdict

# What is not known is worse than OK, for silence is no health, and better than what is known to be
# wrong: the order of the monitoring plug-ins (their ``max_state_alt``).
_FROM_BEST = (Health.OK, Health.UNKNOWN, Health.WARNING, Health.CRITICAL)


def worst(healths: Iterable[Health]) -> Health:
    """Return the worst of several healths; UNKNOWN when there is none."""
    return max(healths, key=_FROM_BEST.index, default=Health.UNKNOWN)


def judge(
    measurements: Iterable[Measurement], reference: Reference | None, probes: Iterable[str]
) -> tuple[Verdict, ...]:
    """Return a verdict for each link that one of the probes asked for looks at."""
    figures, asked = Measurements(measurements), set(probes)
    return tuple(
        _verdict(link, figures, reference) for link in LINKS if asked.intersection(link.PROBES)
    )


def _verdict(link: Link, figures: Measurements, reference: Reference | None) -> Verdict:
    measured = figures.of_probes(link.PROBES)
    criteria: tuple[Criterion, ...] = (
        *link.criteria(figures),
        *repeatability(measured),
        *against_reference(measured, reference, figures.get(HOST_SPEED)),
    )
    health = _health(criteria, measured)
    if all(criterion.value is None for criterion in criteria):
        return Verdict(link.LINK, health, "not measured", _reason(measured), criteria)
    return Verdict(link.LINK, health, link.claim(figures), link.meaning(figures), criteria)


def _health(criteria: Iterable[Criterion], measured: list[Measurement]) -> Health:
    """Return the worst of what was said.

    What the GPU cannot do, or not for this user, says nothing about its health. What was tried and
    went wrong does: the link is then not known to be well. A figure that went wrong at some
    parameters and was taken at others is none of these.
    """
    said = [criterion.health for criterion in criteria if criterion.value is not None]
    failed = {m.name for m in measured if m.status is Status.FAILED}
    taken = {m.name for m in measured if m.status is Status.OK}
    return worst([*said, *([Health.UNKNOWN] if failed - taken else [])])


def _reason(measured: list[Measurement]) -> str:
    reasons = [measurement.reason for measurement in measured if measurement.reason]
    return reasons[0] if reasons else "Nothing was measured."


def repeatability(measurements: list[Measurement]) -> tuple[Criterion, ...]:
    """Hold the least repeatable headline figure against the bound; nothing without figures."""
    spreads = [_spread(m) for m in measurements if m.headline and m.value and not _scatters(m)]
    if not spreads:
        return ()
    widest = max(spreads, key=lambda spread: spread.value or 0.0)
    what = f"half the interval of {widest.name} against its median, the widest of the link"
    return (within(what, widest, most=RESOLUTION, breach=Health.WARNING),)


def _scatters(measurement: Measurement) -> bool:
    """Tell whether a figure may scatter on a healthy GPU."""
    return headline(measurement.name).host or measurement.parameters.get("quantile") == "p99"


def _spread(measurement: Measurement) -> Measurement:
    low, high = measurement.interval
    spread = (high - low) / 2 / abs(measurement.value or 1.0)
    return Measurement(measurement.name, measurement.status, unit="ratio", value=spread)
