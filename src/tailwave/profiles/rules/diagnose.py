"""From kernel profiles to what is wrong with each kernel: the rules, run one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from tailwave.model import (
    Diagnosis,
    KernelDiagnosis,
    KernelFinding,
    KernelProfile,
    KernelProfiles,
    Severity,
    Source,
    Unanswered,
)
from tailwave.profiles.rules import KERNEL_RULES
from tailwave.profiles.rules.base import WORTH_SAYING, Absence, KernelRule, Loss
from tailwave.profiles.rules.bounds import bound, figures, stalls
from tailwave.profiles.rules.kernel import Kernel, MissingCounterError
from tailwave.profiles.rules.notes import notes_on
from tailwave.profiles.rules.theirs import against, beside, instead
from tailwave.recordings import severity

_DURATION = ("gpu__time_duration.sum", "gpu__time_duration.max", "gpu__time_duration.avg")
_NS_PER_US = 1e3


def diagnose_profiles(files: Sequence[KernelProfiles], path: str) -> Diagnosis:
    """Diagnose the kernels of some files; ``path`` is the input as the user named it.

    A launch that is in two of the files counts twice: ``once`` leaves it in one.
    """
    profiles = [profile for file in files for profile in file.profiles]
    kernels = diagnose_kernels(profiles)
    devices = list(dict.fromkeys(kernel.device for kernel in kernels if kernel.device))
    return Diagnosis(
        source=Source(path, _kind(files), len(profiles), (0,)),
        device=devices[0] if devices else None,
        steps=None,
        division=(),
        findings=(),
        notes=(*(note for file in files for note in file.notes), *notes_on(files, kernels)),
        kernels=kernels,
    )


def _kind(files: Sequence[KernelProfiles]) -> str:
    kinds = {file.kind for file in files if file.profiles}
    return kinds.pop() if len(kinds) == 1 else "ncu"


def diagnose_kernels(profiles: Iterable[KernelProfile]) -> tuple[KernelDiagnosis, ...]:
    """Diagnose each kernel, launches of one shape together; that which loses most time first."""
    alike: dict[tuple[object, ...], list[KernelProfile]] = {}
    for profile in profiles:
        alike.setdefault(_shape(profile), []).append(profile)
    found = [diagnose_launches(group) for group in alike.values()]
    return tuple(sorted(found, key=_lost_us, reverse=True))


def _lost_us(kernel: KernelDiagnosis) -> float:
    """Return the time (us) that all of a kernel's launches lose to its greatest cause."""
    share = kernel.findings[0].share if kernel.findings else 0.0
    return (kernel.duration_us or 0.0) * kernel.launches * share


def diagnose_launches(launches: list[KernelProfile]) -> KernelDiagnosis:
    """Diagnose a kernel by that of its launches which took the median time."""
    ordered = sorted(launches, key=lambda profile: profile.value(*_DURATION) or 0.0)
    profile = ordered[(len(ordered) - 1) // 2]
    answers = [(rule, _ask(rule, profile)) for rule in KERNEL_RULES]
    findings = [
        _finding(rule, answer, answer.loss)
        for rule, answer in answers
        if answer.loss is not None and answer.share >= WORTH_SAYING
    ]
    found = {finding.code for finding in findings}
    duration = profile.value(*_DURATION)
    return KernelDiagnosis(
        name=profile.name,
        names=profile.names,
        launches=len(launches),
        grid=profile.grid,
        block=profile.block,
        device=profile.device,
        duration_us=None if duration is None else duration / _NS_PER_US,
        bound=bound(Kernel(profile)),
        findings=tuple(sorted(findings, key=lambda finding: -finding.share)),
        figures=figures(Kernel(profile)),
        stalls=stalls(Kernel(profile)),
        unanswered=tuple(
            Unanswered(rule.CODE, rule.QUESTION, answer.missing)
            for rule, answer in answers
            if answer.missing
        ),
        absent=tuple(answer.absent for _, answer in answers if answer.absent),
        disputed=tuple(
            sentence
            for rule, answer in answers
            if rule.CODE not in found and (answer.loss is not None or not answer.missing)
            for sentence in against(rule, answer.kernel, answer.share)
        ),
    )


class _Answer(NamedTuple):
    """A rule's answer; with ``missing`` counters, of which it needs one, ``loss`` is ncu's."""

    kernel: Kernel
    loss: Loss | None = None
    share: float = 0.0
    absent: str = ""
    missing: tuple[str, ...] = ()
    cures: tuple[str, ...] = ()


def _ask(rule: KernelRule, profile: KernelProfile) -> _Answer:
    kernel = Kernel(profile)
    try:
        found = rule.find(kernel)
    except MissingCounterError as error:
        return _ask_around(rule, Kernel(profile), error.names)
    if isinstance(found, Absence):
        return _Answer(kernel, absent=found.what)
    if found is None:
        return _Answer(kernel)
    return _Answer(kernel, found, min(found.share, 1.0), cures=rule.cures(kernel))


def _ask_around(rule: KernelRule, kernel: Kernel, missing: tuple[str, ...]) -> _Answer:
    """Answer without the counters: that it can't cost much, or else by ncu's estimate."""
    most = 1.0
    with suppress(MissingCounterError):
        most = min(max(rule.most(kernel), 0.0), 1.0)
    if severity(most) is Severity.INFO:
        return _Answer(kernel, share=most)
    loss = instead(rule, kernel, most)
    if loss is None:
        return _Answer(kernel, missing=missing)
    cures: tuple[str, ...] = ()
    with suppress(MissingCounterError):
        cures = rule.cures(kernel)
    return _Answer(kernel, loss, loss.share, missing=missing, cures=cures)


def _finding(rule: KernelRule, answer: _Answer, loss: Loss) -> KernelFinding:
    return KernelFinding(
        code=rule.CODE,
        severity=severity(answer.share),
        title=rule.TITLE,
        claim=loss.claim,
        share=answer.share,
        evidence=loss.evidence,
        metrics=tuple(answer.kernel.used),
        cures=answer.cures,
        theirs=() if answer.missing else beside(rule, answer.kernel, answer.share),
        by="ncu" if answer.missing else "tailwave",
    )


def _shape(profile: KernelProfile) -> tuple[object, ...]:
    """Return what launches of one kernel have in common; old pages tell sizes without shapes."""
    memory = (profile.dynamic_shared, profile.static_shared)
    chip = (profile.device.capability, profile.device.sm_count) if profile.device else ()
    grid = profile.grid or profile.value("launch__grid_size")
    block = profile.block or profile.value("launch__block_size")
    return (profile.name, grid, block, memory, profile.registers, chip)
