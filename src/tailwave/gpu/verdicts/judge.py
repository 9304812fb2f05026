"""Judges every link of the chain that was asked about."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

from tailwave.gpu.headlines import HOST_SPEED
from tailwave.gpu.verdicts import VERDICTS
from tailwave.gpu.verdicts.against_reference import against_reference
from tailwave.gpu.verdicts.figures import Figures
from tailwave.gpu.verdicts.health import worst
from tailwave.gpu.verdicts.repeatability import repeatability
from tailwave.model import Criterion, Health, Measurement, Reference, Status, Verdict


def judge(
    measurements: Iterable[Measurement], reference: Reference | None, probes: Iterable[str]
) -> tuple[Verdict, ...]:
    """Return a verdict for each link that one of the probes asked for looks at."""
    figures, asked = Figures(measurements), set(probes)
    return tuple(
        _verdict(link, figures, reference) for link in VERDICTS if asked.intersection(link.PROBES)
    )


def _verdict(link: ModuleType, figures: Figures, reference: Reference | None) -> Verdict:
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
