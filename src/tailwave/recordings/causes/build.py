"""How rules word and weigh what they found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec
import numpy as np

from tailwave.figures import in_one_unit, percent
from tailwave.model import Evidence, Finding, HostKind, Ints, KernelDiagnosis, Severity
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.timeline.case import Case

# Severity says how much of a step a cure brings back. The bounds only word the ranking, which
# is by recoverable time alone.
_SEVERITY = ((0.30, Severity.CRITICAL), (0.10, Severity.MAJOR), (0.03, Severity.MINOR))
# Less than this share of a step is not worth a sentence.
_WORTH_SAYING = 0.005
_FRAME_REACH = 400


class Added(msgspec.Struct, frozen=True):
    """What other sources than the recording have to say of its step.

    ``instead`` names the codes of which they know better than the recording's rules.
    """

    findings: tuple[Finding, ...] = ()
    kernels: tuple[KernelDiagnosis, ...] = ()
    notes: tuple[str, ...] = ()
    instead: frozenset[str] = frozenset()


def finding(  # noqa: PLR0913 - one call words one whole finding, every part named
    forecast: Forecast,
    *,
    code: str,
    title: str,
    claim: str,
    after_us: float,
    evidence: Iterable[Evidence],
    cures: tuple[str, ...],
) -> Finding | None:
    """Weigh a cause against the step; None when it is not worth a sentence."""
    now = forecast.now_us
    recoverable = now - min(max(after_us, 0.0), now)
    if now <= 0 or recoverable < _WORTH_SAYING * now:
        return None
    return Finding(
        code=code,
        severity=severity(recoverable / now),
        title=title,
        claim=claim,
        step_us_now=now,
        step_us_after=now - recoverable,
        recoverable_us=recoverable,
        evidence=tuple(evidence),
        cures=cures,
    )


def gain(forecast: Forecast, after_us: float) -> str:
    """Word what a cure brings: "7.58 ms would be 0.46 ms"."""
    now, after = in_one_unit(forecast.now_us, min(after_us, forecast.now_us))
    return f"{now} would be {after}"


def share_saved(forecast: Forecast, after_us: float) -> str:
    """Word the share of the step that a cure brings back."""
    saved = max(forecast.now_us - after_us, 0.0)
    return percent(saved / forecast.now_us if saved else 0.0)


def severity(share: float) -> Severity:
    """Word the share of a step that a cure brings back."""
    for bound, word in _SEVERITY:
        if share >= bound:
            return word
    return Severity.INFO


def counted(count: int, noun: str, plural: str) -> str:
    """Word a number of things: "1 launch", "132 launches"."""
    return f"{count} {noun if count == 1 else plural}"


def times(count: int) -> str:
    """Word how often something happened."""
    return "once" if count == 1 else f"{count} times"


def heaviest(
    labels: Iterable[str], weights_us: Iterable[float], most: int = 3
) -> list[tuple[str, float, int]]:
    """Sum weights by label; the heaviest labels with their total (us) and count."""
    total: Counter[str] = Counter()
    count: Counter[str] = Counter()
    for label, weight in zip(labels, weights_us, strict=True):
        total[label] += weight  # type: ignore[assignment]
        count[label] += 1
    return [(label, float(weight), count[label]) for label, weight in total.most_common(most)]


def operator_of(case: Case, row: int) -> str:
    """The outermost operator around a host row: what the user's code called."""
    for lane in case.attribution.lanes:
        position = int(np.searchsorted(lane.start, case.timeline.host.start[row], side="right")) - 1
        if position >= 0 and case.timeline.host.thread[row] in lane.threads:
            return case.name_of_host(int(lane.top[position]))
    return case.name_of_host(row)


def place_of(case: Case, row: int) -> str:
    """Where in the user's code a host row was called: the innermost Python frame outside torch.

    Empty when the recording has no stacks.
    """
    host = case.timeline.host
    moment, thread = host.start[row], host.thread[row]
    last = int(np.searchsorted(host.start, moment, side="right")) - 1
    for index in range(last, max(last - _FRAME_REACH, -1), -1):
        if host.kind[index] == HostKind.PYTHON and host.thread[index] == thread:
            name = case.name_of_host(index)
            if host.end[index] >= moment and ".py(" in name and "torch/" not in name:
                return name
    return ""


def places(case: Case, rows: Ints) -> list[Evidence]:
    """The commonest places in the user's code among host rows, as evidence."""
    if not (case.timeline.host.kind == HostKind.PYTHON).any():
        return []
    found = Counter(place_of(case, int(row)) for row in rows[:200] if row >= 0)
    found.pop("", None)
    return [
        Evidence(f"called from {place}", float(count), "calls")
        for place, count in found.most_common(2)
    ]
