"""What the profiler's own rules say beside a finding, against it, and where counters miss."""

from __future__ import annotations

from collections.abc import Iterator

from tailwave.figures import percent
from tailwave.model import RuleKind, RuleResult
from tailwave.profiles.rules.base import KernelRule, Loss, ratio
from tailwave.profiles.rules.kernel import Kernel

# Where ncu expects this much and nothing is found here, that is worth a sentence (of the kernel).
_WORTH_DISPUTING = 0.10
_GLOBAL = "global"


def beside(rule: KernelRule, kernel: Kernel, share: float) -> tuple[str, ...]:
    """Say what ncu's rules of the same cause estimate, and why they may differ."""
    return tuple(
        f"{_estimate(result)}: {rule.DIFFERS}."
        if rule.DIFFERS and abs(_part(result, share) - share) >= _WORTH_DISPUTING
        else f"{_estimate(result)}."
        for result in _results(rule, kernel)
    )


def against(rule: KernelRule, kernel: Kernel, share: float) -> tuple[str, ...]:
    """Say where ncu's rules expect much of a cause that costs next to nothing here."""
    return tuple(
        f"{_estimate(result)}, tailwave {percent(share)} for {rule.CODE}: {rule.DIFFERS}."
        for result in _results(rule, kernel)
        if result.scope == _GLOBAL and _part(result, share) - share >= _WORTH_DISPUTING
    )


def instead(rule: KernelRule, kernel: Kernel, most: float) -> Loss | None:
    """Take ncu's estimate of a cause whose own counters are missing; None if there is none to take.

    Only rules that are believed, only an estimate of the whole kernel, and never beyond ``most``,
    what the counters that there are allow.
    """
    for theirs in rule.THEIRS:
        estimates = [
            result.speedup / 100
            for result in _optimizations(kernel, theirs.name)
            if theirs.believed and result.scope == _GLOBAL and result.speedup
        ]
        if estimates:
            estimate = max(estimates)
            words = f"ncu estimates that {theirs.believed} cost {percent(estimate)} of the kernel"
            if most < estimate:
                words += f", and other counters allow {percent(most)}"
            claim = f"{words}; tailwave's own figure needs counters that are not here."
            evidence = (ratio("of the kernel, as ncu estimates", estimate),)
            return Loss(min(estimate, most), claim, evidence)
    return None


def _optimizations(kernel: Kernel, name: str) -> Iterator[RuleResult]:
    for result in kernel.profile.rules:
        if result.kind is RuleKind.OPTIMIZATION and result.name == name:
            yield result


def _results(rule: KernelRule, kernel: Kernel) -> Iterator[RuleResult]:
    for theirs in rule.THEIRS:
        for result in _optimizations(kernel, theirs.name):
            if theirs.title in result.title:
                yield result


def _part(result: RuleResult, default: float) -> float:
    """Return an estimate as a fraction, the default where the rule has none."""
    return default if result.speedup is None else result.speedup / 100


def _estimate(result: RuleResult) -> str:
    named = f"ncu's {result.name} ({result.title})" if result.title else f"ncu's {result.name}"
    if result.speedup is None:
        return f"{named} names it without an estimate"
    of = "of the kernel" if result.scope == _GLOBAL else "of the unit"
    return f"{named} estimates {percent(result.speedup / 100)} {of}"
