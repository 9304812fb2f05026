"""What the profiler's own rules say, beside a finding and against it."""

from __future__ import annotations

from types import ModuleType

from tailwave.figures import percent
from tailwave.model import RuleKind, RuleResult
from tailwave.profiles.rules.cause import Cause, ratio
from tailwave.profiles.rules.view import Kernel, MissingCounterError

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


def instead(rule: ModuleType, kernel: Kernel, most: float) -> Cause | None:
    """Take ncu's word for a cause whose own counters are missing; None if it has none to take.

    Only the rules that ``TRUSTED`` names are believed, only an estimate of the whole kernel, and
    never beyond ``most``, what the counters that there are allow.
    """
    for name, what in getattr(rule, "TRUSTED", ()):
        estimates = [r.speedup for r in _of(name, kernel) if r.scope == _GLOBAL and r.speedup]
        if estimates:
            return _by_them(what, max(estimates) / 100, most, _cures(rule, kernel))
    return None


def _by_them(what: str, estimate: float, most: float, cures: tuple[str, ...]) -> Cause:
    words = f"ncu estimates that {what} cost {percent(estimate)} of the kernel"
    if most < estimate:
        words += f", and other counters allow {percent(most)}"
    claim = f"{words}; tailwave's own figure needs counters that are not here."
    evidence = (ratio("of the kernel, as ncu estimates", estimate),)
    return Cause(min(estimate, most), claim, evidence, cures)


def bound_of(rule: ModuleType, kernel: Kernel) -> float:
    """Return the most that a cause can cost by the counters that there are; 1 if they are mute."""
    try:
        most: float = rule.most(kernel) if hasattr(rule, "most") else 1.0
    except MissingCounterError:
        return 1.0
    return min(max(most, 0.0), 1.0)


def _cures(rule: ModuleType, kernel: Kernel) -> tuple[str, ...]:
    try:
        cures: tuple[str, ...] = rule.cures(kernel)
    except MissingCounterError:
        return ()
    return cures


def _of(name: str, kernel: Kernel) -> list[RuleResult]:
    optimizations = (r for r in kernel.profile.rules if r.kind is RuleKind.OPTIMIZATION)
    return [result for result in optimizations if result.name == name]


def _results(rule: ModuleType, kernel: Kernel) -> list[RuleResult]:
    return [
        result
        for name, title in rule.THEIRS
        for result in _of(name, kernel)
        if title in result.title
    ]


def _named(result: RuleResult) -> str:
    return f"{result.name} ({result.title})" if result.title else result.name


def _estimate(result: RuleResult) -> str:
    if result.speedup is None:
        return "names it without an estimate"
    of = "of the kernel" if result.scope == _GLOBAL else "of the unit"
    return f"estimates {percent(result.speedup / 100)} {of}"
