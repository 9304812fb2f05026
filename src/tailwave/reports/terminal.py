"""A diagnosis for a person at a terminal: what is wrong, what curing it is worth, what to try.

Colour only repeats what the words say, so the report reads the same in a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailwave.figures import counted, in_one_unit, percent, quantity, time
from tailwave.model import (
    Diagnosis,
    Evidence,
    Finding,
    Severity,
    Share,
    Source,
    StepKernel,
    StepsSummary,
    StepTime,
)
from tailwave.reports.kernels_terminal import kernels_headline, print_kernels
from tailwave.reports.page import SEVERITY_STYLES, Cell, Page
from tailwave.reports.step_time import step_time

if TYPE_CHECKING:
    from rich.console import Console

_INDENT = " " * 4
_PROFILE = "ncu"  # what kinds of kernel profiles begin with
_GPU_AT_WORK = ("kernels", "collectives", "copies")
_UNCLASSED = "other"  # a kernel whose name does not tell what it computes
_WORTH_NAMING = 0.01  # of a step


def render_diagnosis(diagnosis: Diagnosis, console: Console) -> None:
    """Print the whole report of one diagnosis."""
    page = Page(console)
    page.paragraph(_headline(diagnosis), style="bold")
    _print_subject(page, diagnosis)
    _print_division(page, diagnosis.division)
    _print_costliest(page, diagnosis.costliest)
    _print_findings(page, diagnosis.findings)
    print_kernels(page, diagnosis.kernels, recorded=diagnosis.steps is not None)
    page.items("Notes" if diagnosis.steps or diagnosis.kernels else "Why", diagnosis.notes)
    page.next_command(diagnosis.next)


def _headline(diagnosis: Diagnosis) -> str:
    """Return the one thing to take away."""
    worst = _worst(diagnosis.findings)
    if worst:
        return f"{_advice(worst)}{_counted_from(diagnosis.now)}"
    if diagnosis.steps is None and diagnosis.kernels:
        return kernels_headline(diagnosis.kernels)
    if diagnosis.steps is None:
        return "This recording does not tell where the time of a step goes."
    if diagnosis.withheld:
        return (
            f"This recording is not sound enough to say what is wrong ({_withheld(diagnosis)} "
            "withheld): see the notes, and record it again."
        )
    return f"{_nothing_much(diagnosis.findings)} {_spending(diagnosis.division)}".rstrip()


def _worst(findings: tuple[Finding, ...]) -> Finding | None:
    """Return the finding that heads the report: the first of the greatest severity."""
    worst = max(findings, key=lambda f: list(Severity).index(f.severity), default=None)
    return worst if worst and worst.severity is not Severity.INFO else None


def _withheld(diagnosis: Diagnosis) -> str:
    return ", ".join(diagnosis.withheld)


def _advice(finding: Finding) -> str:
    cure = f" Try {' or '.join(finding.cures)}." if finding.cures else ""
    return f"{finding.claim}{cure}"


def _counted_from(now: StepTime | None) -> str:
    return f" Counted from {step_time(now)}." if now else ""


def _nothing_much(findings: tuple[Finding, ...]) -> str:
    if not findings:
        return "No cause was found that costs more than half a percent of a step."
    return f"No cause costs much here; the first: {findings[0].code}, {_saving(findings[0])}."


def _spending(division: tuple[Share, ...]) -> str:
    whole = _whole(division)
    parts = [
        f"{share.label} ({percent(share.us / whole)})"
        for share in _by_size(division)
        if share.us / whole >= _WORTH_NAMING
    ]
    return f"The time goes to: {'; '.join(parts)}." if parts else ""


def _print_subject(page: Page, diagnosis: Diagnosis) -> None:
    page.blank()
    is_profile = diagnosis.source.kind.startswith(_PROFILE)
    source = _profile(diagnosis.source) if is_profile else _source(diagnosis.source)
    page.paragraph(
        source, lead="  profile    " if is_profile else "  recording  ", lead_style="dim"
    )
    page.paragraph(
        diagnosis.device.words if diagnosis.device else "unknown",
        lead="  device     ",
        lead_style="dim",
    )
    if diagnosis.steps:
        page.paragraph(_steps(diagnosis.steps), lead="  steps      ", lead_style="dim")


def _source(source: Source) -> str:
    ranks = f"{len(source.ranks)} ranks" if len(source.ranks) > 1 else f"rank {source.ranks[0]}"
    return f"{source.path} ({source.kind}, {ranks}, {source.events:,} events)"


def _profile(source: Source) -> str:
    launches = "1 launch" if source.events == 1 else f"{source.events:,} launches"
    return f"{source.path} ({source.kind}, {launches})"


def _steps(steps: StepsSummary) -> str:
    mean, busy = in_one_unit(steps.mean_us, steps.gpu_busy_us)
    part = _of(steps.gpu_busy_us, steps.mean_us)
    counted = f"{steps.count} by {steps.by}, mean {mean}, GPU busy {busy} ({part})"
    if steps.count == 1:
        return counted
    spread = in_one_unit(steps.median_us, steps.p90_us, steps.p99_us, steps.max_us)
    named = zip(("median", "p90", "p99", "max"), spread, strict=True)
    sample = f"; {steps.replayed} of them replayed" if steps.replayed < steps.count else ""
    return f"{counted}; {', '.join(f'{name} {us}' for name, us in named)}{sample}"


def _print_division(page: Page, division: tuple[Share, ...]) -> None:
    shares = _by_size(division)
    if not shares:
        return
    page.heading("Where the time of a step goes")
    label_width = max(len(share.label) for share in shares)
    whole = _whole(division)
    for share in shares:
        part = share.us / whole
        style = "green" if share.what in _GPU_AT_WORK else "red"
        figures = f"{time(share.us):>8}  {percent(part):>5}"
        page.bar(part, Cell(share.label, label_width, style), figures)


def _print_costliest(page: Page, costliest: tuple[StepKernel, ...]) -> None:
    if costliest:
        page.heading("The costliest of what the GPU runs in a step")
    for kernel in costliest:
        kind = "" if kernel.kind == _UNCLASSED else f"{kernel.kind}, "
        page.paragraph(
            f"{kind}{counted(kernel.calls, 'time')}: {kernel.name}",
            lead=f"  {time(kernel.us):>8}  {percent(kernel.share):>5}  ",
        )


def _print_findings(page: Page, findings: tuple[Finding, ...]) -> None:
    if not findings:
        return
    each_alone = " (each alone: savings do not add up)" if len(findings) > 1 else ""
    page.heading(f"What costs time, and what its cure is worth{each_alone}")
    after_block = False
    for number, finding in enumerate(findings, start=1):
        if after_block:
            page.blank()
        after_block = finding.severity is not Severity.INFO
        if after_block:
            _print_finding(page, number, finding, claimed=finding is _worst(findings))
        else:
            _print_briefly(page, number, finding)


def _print_finding(page: Page, number: int, finding: Finding, *, claimed: bool) -> None:
    """Print a finding as a block; ``claimed``: its claim heads the report."""
    _print_title(page, number, finding, finding.title, style="bold")
    if not claimed:
        page.paragraph(finding.claim, lead=_INDENT)
    page.paragraph(_gain(finding), lead=_INDENT)
    for evidence in finding.evidence:
        _print_evidence(page, evidence)
    if finding.cures:
        page.paragraph(", ".join(finding.cures), lead=f"{_INDENT}try:  ", style="green")
    page.paragraph(f"tailwave explain {finding.code}", lead=f"{_INDENT}more: ")


def _print_briefly(page: Page, number: int, finding: Finding) -> None:
    _print_title(page, number, finding, f"{finding.code}: {_saving(finding)}")


def _print_title(page: Page, number: int, finding: Finding, title: str, style: str = "") -> None:
    lead = f"{number:>2}. {finding.severity.upper():<8}  "
    page.paragraph(title, lead=lead, lead_style=SEVERITY_STYLES[finding.severity], style=style)


def _print_evidence(page: Page, evidence: Evidence) -> None:
    figure = "" if evidence.value is None else quantity(evidence.value, evidence.unit)
    page.paragraph(evidence.what, lead=f"{_INDENT}{figure:>9}  ", style="dim")


def _gain(finding: Finding) -> str:
    after, saved = finding.step_us_after, finding.recoverable_us
    if after is None or saved is None:
        return f"takes {percent(finding.share)} of a step; what a cure brings is not known"
    before, then, gained = in_one_unit(finding.step_us_now, after, saved)
    return (
        f"now {before} -> after {then} (saves {gained} a step, {percent(finding.share)})"
        f"{_condition(finding)}"
    )


def _saving(finding: Finding) -> str:
    if finding.recoverable_us is None:
        return f"takes {percent(finding.share)} of a step"
    saved = f"{time(finding.recoverable_us)} a step, {percent(finding.share)}"
    return f"a cure saves {saved}{_condition(finding)}"


def _condition(finding: Finding) -> str:
    return f", {finding.condition}" if finding.condition else ""


def _of(part: float, whole: float) -> str:
    return percent(part / whole) if whole else "unknown"


def _by_size(division: tuple[Share, ...]) -> list[Share]:
    """Return the shares that took any time, the largest first."""
    return sorted((s for s in division if s.us > 0), key=lambda s: s.us, reverse=True)


def _whole(division: tuple[Share, ...]) -> float:
    return sum(share.us for share in division)
