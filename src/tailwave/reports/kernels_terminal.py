"""Profiled kernels for a person at a terminal: what bounds each, what costs it time, its figures.

Colour only repeats what the words say, so the report reads the same in a file.
"""

from __future__ import annotations

import math

from tailwave.figures import percent, quantity, time
from tailwave.kernel_names import short
from tailwave.model import Evidence, KernelDiagnosis, KernelFinding, Severity, Shape
from tailwave.reports.page import SEVERITY_STYLES, Page

_INDENT = " " * 4
_INNER = " " * 8
_LONGEST_TITLE = 100
_MOST_KERNELS = 20  # shown; a profile of a whole program has hundreds
_MOST_STALLS = 4
_STRANGERS = (
    "None of the profiled kernels is in the recording's step: profile the program that was "
    "recorded, or diagnose the profile alone."
)


def kernels_headline(kernels: tuple[KernelDiagnosis, ...]) -> str:
    """Return the one thing to take away from profiles alone."""
    ailing = [kernel for kernel in kernels if _ails(kernel)]
    if not ailing:
        which = "this kernel" if len(kernels) == 1 else f"any of these {len(kernels)} kernels"
        found = f"Nothing was found that costs {which} time worth a cure"
        unanswered = _open_questions(kernels)
        return f"{found}, but {_are_open(unanswered)}." if unanswered else f"{found}."
    worst = ailing[0]
    finding = worst.findings[0]
    cure = f" Try {' or '.join(finding.cures)}." if finding.cures else ""
    lose = "lose" if len(ailing) > 1 else "loses"
    of = f" {len(ailing)} of {len(kernels)} kernels {lose} time." if len(kernels) > 1 else ""
    return f"{short(worst.name)}: {finding.claim}{cure}{of}"


def print_kernels(page: Page, kernels: tuple[KernelDiagnosis, ...], *, recorded: bool) -> None:
    """Print each kernel, and what the profile does not answer of any.

    ``recorded``: there is a recording's step, and only kernels that it runs are of interest.
    """
    if not kernels:
        return
    page.heading("Kernels, by the time that they lose")
    shown = tuple(one for one in kernels if one.in_trace) if recorded else kernels
    if not shown:
        page.paragraph(_STRANGERS)
        return
    for number, kernel in enumerate(shown[:_MOST_KERNELS], start=1):
        if number > 1:
            page.blank()
        _print_kernel(page, number, kernel)
    if len(shown) > _MOST_KERNELS:
        page.blank()
        more = len(shown) - _MOST_KERNELS
        page.paragraph(
            f"and {more} more, which lose no more than these: --json has all", style="dim"
        )
    _print_unanswered(page, shown)


def _ails(kernel: KernelDiagnosis) -> bool:
    return bool(kernel.findings) and kernel.findings[0].severity is not Severity.INFO


def _print_kernel(page: Page, number: int, kernel: KernelDiagnosis) -> None:
    page.paragraph(short(kernel.name, _LONGEST_TITLE), lead=f"{number:>2}. ", style="bold")
    page.paragraph(_launch(kernel), lead=_INDENT, style="dim")
    page.paragraph(kernel.bound, lead=_INDENT)
    if kernel.in_trace:
        place = kernel.in_trace
        times = f"{place.calls} times" if place.calls > 1 else "once"
        page.paragraph(
            f"in the recording: {time(place.step_us)} a step ({percent(place.step_share)}), "
            f"{times}, matched {place.matched_by}",
            lead=_INDENT,
        )
    for finding in kernel.findings:
        _print_finding(page, finding)
    if not kernel.findings:
        _print_nothing(page, len(kernel.unanswered))
    elif kernel.unanswered:
        page.paragraph(_are_open(len(kernel.unanswered)), lead=_INDENT)
    _print_figures(page, kernel)


def _print_nothing(page: Page, unanswered: int) -> None:
    """Say that nothing was found; without counters that is no praise."""
    found = "nothing found that costs it time"
    if unanswered:
        page.paragraph(f"{found}, but {_are_open(unanswered)}", lead=_INDENT)
    else:
        page.paragraph(found, lead=_INDENT, style="green")


def _open_questions(kernels: tuple[KernelDiagnosis, ...]) -> int:
    return len({one.code for kernel in kernels for one in kernel.unanswered})


def _are_open(count: int) -> str:
    questions = f"{count} questions are" if count > 1 else "1 question is"
    return f"{questions} open, for the profile lacks what answers {'them' if count > 1 else 'it'}"


def _launch(kernel: KernelDiagnosis) -> str:
    parts = []
    if kernel.grid and kernel.block:
        parts.append(f"grid {_shape(kernel.grid)}, block {_shape(kernel.block)}")
    if kernel.duration_us is not None:
        parts.append(time(kernel.duration_us))
    if kernel.launches > 1:
        parts.append(f"the median of {kernel.launches} launches")
    return ", ".join(parts)


def _shape(shape: Shape) -> str:
    sizes = [f"{size:,}" for size in shape]
    return " x ".join(sizes) if math.prod(shape[1:]) != 1 else sizes[0]


def _print_finding(page: Page, finding: KernelFinding) -> None:
    style = SEVERITY_STYLES[finding.severity]
    lead = f"{_INDENT}{finding.severity.upper():<8}  "
    by = "" if finding.by == "tailwave" else f", going by {finding.by}"
    if finding.severity is Severity.INFO:
        page.paragraph(
            f"{finding.code}: {percent(finding.share)} of the kernel{by}",
            lead=lead,
            lead_style=style,
        )
        return
    title = f"{finding.title}: {percent(finding.share)} of the kernel at most{by}"
    page.paragraph(title, lead=lead, lead_style=style, style="bold")
    page.paragraph(finding.claim, lead=_INNER)
    _print_evidence(page, finding.evidence)
    for sentence in finding.theirs:
        page.paragraph(sentence, lead=_INNER, style="dim")
    if finding.cures:
        page.paragraph(", ".join(finding.cures), lead=f"{_INNER}try:  ", style="green")
    page.paragraph(f"tailwave explain {finding.code}", lead=f"{_INNER}more: ")


def _print_evidence(page: Page, evidence: tuple[Evidence, ...]) -> None:
    width = max((len(_figure(one)) for one in evidence), default=0)
    for one in evidence:
        page.paragraph(one.what, lead=f"{_INNER}{_figure(one):>{width}}  ", style="dim")


def _figure(evidence: Evidence) -> str:
    return "" if evidence.value is None else quantity(evidence.value, evidence.unit)


def _print_figures(page: Page, kernel: KernelDiagnosis) -> None:
    """Print how a kernel runs, in a paragraph for each kind of figure."""
    figures = "; ".join(f"{figure.what} {_figure(figure)}" for figure in kernel.figures)
    waits = ", ".join(f"{_figure(stall)} {stall.what}" for stall in kernel.stalls[:_MOST_STALLS])
    for label, text in (
        ("figures  ", figures),
        ("warps    ", f"of their latency {waits}" if waits else ""),
        ("not used ", ", ".join(kernel.absent)),
        *(("disputed ", sentence) for sentence in kernel.disputed),
    ):
        if text:
            page.paragraph(text, lead=f"{_INDENT}{label} ", lead_style="dim", style="dim")


def _print_unanswered(page: Page, kernels: tuple[KernelDiagnosis, ...]) -> None:
    questions = {one.code: one for kernel in kernels for one in kernel.unanswered}
    if not questions:
        return
    page.heading("What the profile does not answer")
    for code, one in questions.items():
        of = sum(any(u.code == code for u in kernel.unanswered) for kernel in kernels)
        some = f" (of {of} of {len(kernels)} kernels)" if of < len(kernels) else ""
        page.paragraph(f"{one.question} It needs {one.metrics[0]}{some}.", lead=f"  {code:<18} ")
    page.paragraph(f"tailwave metrics --for {' --for '.join(questions)}", lead="  record with: ")
