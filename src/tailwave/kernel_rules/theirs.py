"""What the profiler's own rules say, beside a finding and against it."""

from __future__ import annotations

from types import ModuleType

from tailwave.figures import percent
from tailwave.kernel_rules.view import Kernel
from tailwave.model import RuleKind, RuleResult

# Where ncu expects this much and nothing is found here, that is worth a sentence (of the kernel).
_WORTH_DISPUTING = 0.10
_GLOBAL = "global"


def beside(rule: ModuleType, kernel: Kernel, share: float) -> tuple[str, ...]:
    """Say what ncu's rules of the same cause estimate, and why they may differ."""
    sentences = []
    for result in _results(rule, kernel):
        text = f"ncu's {_named(result)} {_estimate(result)}"
        ours = result.speedup is not None and abs(result.speedup / 100 - share) >= _WORTH_DISPUTING
        sentences.append(f"{text}: {rule.DIFFERS}." if ours and rule.DIFFERS else f"{text}.")
    return tuple(sentences)


def against(rule: ModuleType, kernel: Kernel, share: float) -> tuple[str, ...]:
    """Say where ncu's rules expect much of a cause that costs next to nothing here."""
    return tuple(
        f"ncu's {_named(result)} {_estimate(result)}, tailwave {percent(share)} for "
        f"{rule.CODE}: {rule.DIFFERS}."
        for result in _results(rule, kernel)
        if result.scope == _GLOBAL
        and result.speedup is not None
        and result.speedup / 100 - share >= _WORTH_DISPUTING
    )


def _results(rule: ModuleType, kernel: Kernel) -> list[RuleResult]:
    return [
        result
        for name, title in rule.THEIRS
        for result in kernel.profile.rules
        if result.name == name and title in result.title and result.kind is RuleKind.OPTIMIZATION
    ]


def _named(result: RuleResult) -> str:
    return f"{result.name} ({result.title})" if result.title else result.name


def _estimate(result: RuleResult) -> str:
    if result.speedup is None:
        return "names it without an estimate"
    of = "of the kernel" if result.scope == _GLOBAL else "of the unit"
    return f"estimates {percent(result.speedup / 100)} {of}"
