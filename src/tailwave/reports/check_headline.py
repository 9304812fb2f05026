"""The one sentence that answers what was asked of a check."""

from __future__ import annotations

import re

from tailwave.figures import counted
from tailwave.model import DeviceFacts, Health, Session, Verdict

_FROM_WORST = (Health.CRITICAL, Health.WARNING, Health.UNKNOWN, Health.OK)
# Letters whose names begin with a vowel: "an H200", but "a B200".
_AN = "AEFHILMNORSX"


def headline(session: Session) -> str:
    """Say whether the device schedules as it should, and which links do not."""
    device = session.device
    if device is None:
        return f"{session.health.upper()}: {session.cut_short or 'no device was measured.'}"
    gpu = "simulated GPU" if device.simulated else "GPU"
    if session.cut_short:
        health = session.health.upper()
        return f"{health}: this {gpu} was not checked to the end. {session.cut_short}"
    return _answer(gpu, session, device)


def _answer(gpu: str, session: Session, device: DeviceFacts) -> str:
    """Answer for a check that ran to its end."""
    if not session.verdicts:
        return f"This {gpu} was asked nothing that a verdict rests on."
    model = _model(device) if session.reference else "any GPU"
    counts = _counts(session.verdicts)
    healths = {verdict.health for verdict in session.verdicts}
    if healths == {Health.OK}:
        return f"This {gpu} schedules as {model} should: {counts}."
    if healths == {Health.UNKNOWN}:
        return f"Whether this {gpu} schedules as {model} should is not known: {counts}."
    if healths <= {Health.OK, Health.UNKNOWN}:
        return f"As far as could be measured, this {gpu} schedules as {model} should: {counts}."
    not_quite = "does not" if Health.CRITICAL in healths else "does not quite"
    return f"This {gpu} {not_quite} schedule as {model} should: {counts}."


def _counts(verdicts: tuple[Verdict, ...]) -> str:
    """Name the links that are not OK, worst first, and count those that are."""
    parts = []
    for health in _FROM_WORST[:-1]:
        links = [verdict.link for verdict in verdicts if verdict.health is health]
        if links:
            parts.append(f"{_listed(links)} {health.upper()}")
    healthy = sum(verdict.health is Health.OK for verdict in verdicts)
    if healthy:
        parts.append(f"{counted(healthy, 'link')} OK")
    return ", ".join(parts)


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _model(device: DeviceFacts) -> str:
    name = device.name.removeprefix("NVIDIA ").removesuffix(" (simulated)")
    first = name.partition(" ")[0]
    spelled = re.fullmatch(r"[A-Z]+[0-9A-Z]*", first) is not None
    article = "an" if first[:1] in (_AN if spelled else "AEIOU") else "a"
    return f"{article} {name}"
