"""Which cures a diagnosis calls for, in order of the most that each can bring.

The bound of a cure comes from the findings that it answers, before anything is applied: what
curing them gives back, as a share of the step. Several add up, as far as there is anything left to
give: causes on the host cost the GPU no more than the time in which it idles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tailwave.cures.catalogue import BY_NAME
from tailwave.cures.catalogue.base import ANYTHING, Candidate, Cure, Setting, busy_share
from tailwave.errors import UnknownNameError
from tailwave.figures import percent
from tailwave.model import Diagnosis, Finding

# A trial tells 2% from noise at best: what can bring less is not worth the runs.
WORTH_TRYING: Final = 0.02

# Findings whose lost time is idle time of the GPU.
_HOST_CAUSES: Final = {"launch-bound", "host-sync", "host-starved", "host-contention"}

# Cures that make every run a minute longer, for they compile first.
_SLOW: Final = {"compile"}

# Cures that the cures bring about in part only: the rest is always for the reader.
_IN_PART: Final = {"remove-sync", "partition"}


@dataclass(frozen=True)
class Rejection:
    """A candidate that is not worth a trial, or cannot have one, and the sentence that says why."""

    candidate: Candidate
    why: str


@dataclass(frozen=True)
class Choice:
    """What a diagnosis calls for: candidates, greatest bound first; those dropped; advice.

    ``reserves`` are slow to try, and wait for a candidate that answers the same finding to fail.
    ``advice`` are cures that need root or the program's source: to be printed, never run.
    """

    candidates: tuple[Candidate, ...] = ()
    reserves: tuple[Candidate, ...] = ()
    dropped: tuple[Rejection, ...] = ()
    advice: tuple[str, ...] = ()


def named(spec: str, setting: Setting, cures: Sequence[Cure]) -> Candidate:
    """Return the candidate that a user names; without a parameter, with its best guess.

    Its bound is that of the setting's diagnosis. Raises UsageError for a name or a parameter that
    there is not.
    """
    name, _, parameter = spec.partition(":")
    cure = next((one for one in cures if name == one.name), None)
    if cure is None:
        names = [one.name for one in cures]
        sentence = f"there is no cure {name}; the cures are {', '.join(names)}."
        raise UnknownNameError(sentence, name, names)
    guess = (*cure.parameters(setting), "")[0]
    candidate = _candidate(cure, parameter or guess, setting.diagnosis)
    if candidate.parameter or not candidate.why_not(setting):
        candidate.treatment(setting)  # raises for a parameter that means nothing
    return candidate


def choose(diagnosis: Diagnosis | None, setting: Setting, cures: Sequence[Cure]) -> Choice:
    """Choose from a diagnosis; without one, only what undoes an obvious mistake is called for."""
    setting = replace(setting, diagnosis=diagnosis)
    kept: list[Candidate] = []
    dropped: list[Rejection] = []
    for candidate in _called_for(setting, cures):
        why = _too_little(candidate) or candidate.why_not(setting)
        if why:
            dropped.append(Rejection(candidate, why))
        else:
            kept.append(candidate)
    kept.sort(key=lambda candidate: -(candidate.bound or 0.0))
    reserves = [candidate for candidate in kept if _can_wait(candidate, kept)]
    return Choice(
        candidates=tuple(candidate for candidate in kept if candidate not in reserves),
        reserves=tuple(reserves),
        dropped=tuple(dropped),
        advice=tuple(_advice(diagnosis, kept)),
    )


def stands_in(reserve: Candidate, candidate: Candidate) -> bool:
    """Tell whether a reserve answers a finding that a candidate answers."""
    return not set(reserve.codes).isdisjoint(candidate.codes)


def _can_wait(candidate: Candidate, kept: Sequence[Candidate]) -> bool:
    """Tell whether a candidate is slow to try, and a quicker one answers what it answers."""
    quick = [other for other in kept if other.cure.name not in _SLOW]
    return candidate.cure.name in _SLOW and any(stands_in(candidate, other) for other in quick)


def _called_for(setting: Setting, cures: Sequence[Cure]) -> Iterator[Candidate]:
    """Yield the candidates of each cure that answers a finding, or whatever is wrong."""
    for cure in cures:
        for parameter in cure.parameters(setting):
            candidate = _candidate(cure, parameter, setting.diagnosis)
            if candidate.codes or ANYTHING in cure.answers:
                yield candidate


def _candidate(cure: Cure, parameter: str, diagnosis: Diagnosis | None) -> Candidate:
    findings = diagnosis.findings if diagnosis is not None else ()
    mine = [finding for finding in findings if answers(cure, finding)]
    bound = _bound(mine, diagnosis)
    if bound is None and ANYTHING in cure.answers:
        bound = _idle_share(diagnosis)
    return Candidate(cure, parameter, bound, tuple(finding.code for finding in mine))


def answers(cure: Cure, finding: Finding) -> bool:
    """Tell whether a finding names a cure that the cure brings about."""
    if ANYTHING in cure.answers:
        return True
    said = (finding.claim, *(piece.what for piece in finding.evidence))
    return not set(cure.answers).isdisjoint(finding.cures) and (
        not cure.evidence or any(word in text for word in cure.evidence for text in said)
    )


def _bound(findings: Sequence[Finding], diagnosis: Diagnosis | None) -> float | None:
    """Return the most that curing these findings gives back, as a share of the step."""
    if not findings:
        return None
    shares = [finding.share for finding in findings]
    most = 1.0
    idle = _idle_share(diagnosis)
    if idle is not None and {finding.code for finding in findings} <= _HOST_CAUSES:
        most = max(idle, *shares)  # each by itself is what its replay says
    return min(sum(shares), most)


def _idle_share(diagnosis: Diagnosis | None) -> float | None:
    busy = busy_share(diagnosis)
    return None if busy is None else 1.0 - busy


def _too_little(candidate: Candidate) -> str:
    if candidate.bound is None or candidate.bound >= WORTH_TRYING:
        return ""
    return (
        f"It can save at most {percent(candidate.bound)} of the step, less than the "
        f"{WORTH_TRYING:.0%} that a trial can tell from noise."
    )


def _advice(diagnosis: Diagnosis | None, kept: Sequence[Candidate]) -> Iterator[str]:
    """Yield what to do oneself about the findings that count, where no candidate does it."""
    covered = {cure for candidate in kept for cure in candidate.cure.answers} - _IN_PART
    told: set[str] = set()
    for finding in diagnosis.findings if diagnosis is not None else ():
        if finding.share < WORTH_TRYING:
            continue
        for cure in finding.cures:
            if cure not in covered | told:
                told.add(cure)
                entry = BY_NAME[cure]
                yield f"For {finding.code}: {entry.advice or entry.does}"
