"""From kernel profiles to what is wrong with each kernel: the rules, run one by one."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

from tailwave.kernel_rules import KERNEL_RULES
from tailwave.kernel_rules.bounds import bound, figures, stalls
from tailwave.kernel_rules.cause import WORTH_SAYING, Cause, severity
from tailwave.kernel_rules.theirs import against, beside
from tailwave.kernel_rules.view import Kernel, MissingCounterError
from tailwave.model import (
    KernelDiagnosis,
    KernelFinding,
    KernelProfile,
    Unanswered,
)

_DURATION = ("gpu__time_duration.sum", "gpu__time_duration.max", "gpu__time_duration.avg")
_NS_PER_US = 1e3


def diagnose_kernels(profiles: Iterable[KernelProfile]) -> tuple[KernelDiagnosis, ...]:
    """Diagnose each kernel, launches of the same shape together, the longest in all first."""
    alike: dict[tuple[object, ...], list[KernelProfile]] = {}
    for profile in profiles:
        alike.setdefault(_shape(profile), []).append(profile)
    found = [diagnose_launches(group) for group in alike.values()]
    return tuple(sorted(found, key=lambda one: -(one.duration_us or 0.0) * one.launches))


def diagnose_launches(launches: list[KernelProfile]) -> KernelDiagnosis:
    """Diagnose a kernel by that of its launches which took the median time."""
    ordered = sorted(launches, key=lambda profile: profile.value(*_DURATION) or 0.0)
    profile = ordered[(len(ordered) - 1) // 2]
    findings: list[KernelFinding] = []
    unanswered: list[Unanswered] = []
    disputed: list[str] = []
    for rule in KERNEL_RULES:
        kernel = Kernel(profile)
        try:
            cause: Cause | None = rule.find(kernel)
        except MissingCounterError as missing:
            unanswered.append(Unanswered(rule.CODE, rule.QUESTION, missing.names))
            continue
        share = min(cause.share, 1.0) if cause else 0.0
        if cause is None or share < WORTH_SAYING:
            disputed += against(rule, kernel, share)
        else:
            findings.append(_finding(rule, kernel, cause, share))
    duration = profile.value(*_DURATION)
    return KernelDiagnosis(
        name=profile.name,
        launches=len(launches),
        grid=profile.grid,
        block=profile.block,
        device=profile.device,
        duration_us=None if duration is None else duration / _NS_PER_US,
        bound=bound(Kernel(profile)),
        findings=tuple(sorted(findings, key=lambda finding: -finding.share)),
        figures=figures(Kernel(profile)),
        stalls=stalls(Kernel(profile)),
        unanswered=tuple(unanswered),
        absent=tuple(_absent(profile)),
        disputed=tuple(disputed),
    )


def _finding(rule: ModuleType, kernel: Kernel, cause: Cause, share: float) -> KernelFinding:
    return KernelFinding(
        code=rule.CODE,
        severity=severity(share),
        title=rule.TITLE,
        claim=cause.claim,
        share=share,
        evidence=cause.evidence,
        metrics=tuple(kernel.used),
        remedies=cause.remedies,
        theirs=beside(rule, kernel, share),
    )


def _absent(profile: KernelProfile) -> Iterable[str]:
    """Yield the mechanisms that a kernel does not use, as far as its counters tell."""
    for rule in KERNEL_RULES:
        if not hasattr(rule, "absent"):
            continue
        try:
            text: str = rule.absent(Kernel(profile))
        except MissingCounterError:
            continue
        if text:
            yield text


def _shape(profile: KernelProfile) -> tuple[object, ...]:
    """Return what launches of one kernel have in common."""
    memory = (profile.dynamic_shared, profile.static_shared)
    return (profile.name, profile.grid, profile.block, memory, profile.registers)
