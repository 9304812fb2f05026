"""The one sentence that answers what was asked of a check."""

from __future__ import annotations

import re

from tailwave.model import DeviceFacts, Health, Session, Verdict

_FROM_WORST = (Health.CRITICAL, Health.WARNING, Health.UNKNOWN, Health.OK)
# Letters whose names begin with a vowel: "an H200", but "a B200".
_AN = "AEFHILMNORSX"


def headline(session: Session) -> str:
    """Say whether the device schedules as it should, and which links do not."""
    device = session.device
    if device is None:
        return session.cut_short or "There is no device, so nothing was measured."
    subject = f"This {'simulated ' if device.simulated else ''}GPU"
    if session.cut_short:
        return f"{subject} could not be checked to the end: {session.cut_short}"
    counts = _counts(session.verdicts)
    if not session.verdicts:
        return f"{subject} was asked nothing that a verdict rests on."
    model = _model(device) if session.reference else "any GPU"
    if all(verdict.health is Health.OK for verdict in session.verdicts):
        return f"{subject} schedules as {model} should: {counts}."
    if any(v.health in {Health.WARNING, Health.CRITICAL} for v in session.verdicts):
        return f"{subject} does not schedule as {model} should: {counts}."
    return f"As far as could be measured, {subject.lower()} schedules as {model} should: {counts}."


def _counts(verdicts: tuple[Verdict, ...]) -> str:
    """Name the links that are not OK, worst first, and count those that are."""
    parts = []
    for health in _FROM_WORST[:-1]:
        links = [verdict.link for verdict in verdicts if verdict.health is health]
        if links:
            parts.append(f"{_listed(links)} {health.upper()}")
    healthy = sum(verdict.health is Health.OK for verdict in verdicts)
    if healthy:
        parts.append(f"{healthy} link{'s' if healthy > 1 else ''} OK")
    return ", ".join(parts)


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _model(device: DeviceFacts) -> str:
    name = device.name.removeprefix("NVIDIA ").removesuffix(" (simulated)")
    first = name.partition(" ")[0]
    spelled = re.fullmatch(r"[A-Z]+[0-9A-Z]*", first) is not None
    article = "an" if first[:1] in (_AN if spelled else "AEIOU") else "a"
    return f"{article} {name}"
