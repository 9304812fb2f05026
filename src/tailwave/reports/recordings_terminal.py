"""How two recordings differ, for a person at a terminal: by what, and where it is seen."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from tailwave.figures import counted, in_one_unit, percent, quantity, time
from tailwave.reports.page import Cell, Page
from tailwave.reports.step_time import step_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from tailwave.model import (
        ComparedRecording,
        ComparedShare,
        ComparedWork,
        DifferencePart,
        MatchedKernels,
        RecordingComparison,
    )

# Columns: a time with its sign, a part's label, calls on both sides.
_FIGURE, _LABEL, _CALLS = 9, 31, 12
# The headline names causes until what is left is less than this part of the difference.
_WORTH_NAMING = 0.05
_MOST_NAMED = 4
_MOST_ROWS = 8
# What changed by less than this part of the longer step is not shown.
_WORTH_A_ROW = 0.0005


def render_recording_comparison(comparison: RecordingComparison, console: Console) -> None:
    """Print the whole report of one comparison."""
    page = Page(console)
    page.paragraph(_headline(comparison), style="bold")
    page.blank()
    _print_recording(page, "  before   ", comparison.before)
    _print_recording(page, "  after    ", comparison.after)
    page.paragraph(_matched(comparison.matched), lead="  kernels  ", lead_style="dim")
    least = _WORTH_A_ROW * max(one.steps.mean_us for one in (comparison.before, comparison.after))
    _print_parts(page, comparison, least)
    _print_shares(page, comparison.shares, least)
    _print_work(page, "Kernels and copies: what changed most", comparison.kernels, least)
    _print_work(page, "Calls of the host: what changed most", comparison.calls, least)
    page.items("Notes", comparison.notes)


def _headline(comparison: RecordingComparison) -> str:
    """Return the one thing to take away."""
    us = comparison.difference_us
    before, after, apart = in_one_unit(
        comparison.before.steps.mean_us, comparison.after.steps.mean_us, abs(us)
    )
    if us == 0:
        return f"No difference: {before} a step."
    causes = _causes(comparison.parts, us)
    return (
        f"{'Slower' if us > 0 else 'Faster'} by {apart} a step as recorded ({before} -> "
        f"{after}): {causes}."
        f"{_uncertain(comparison.low_us, comparison.high_us)}"
    )


def _uncertain(low: float | None, high: float | None) -> str:
    """Say of a difference that may be none within what it is."""
    if low is None or high is None or not low <= 0 <= high:
        return ""
    least, most = in_one_unit(low, high)
    return f" It may be none: the steps scatter so that it is {least} to {most}."


def _causes(parts: Sequence[DifferencePart], whole: float) -> str:
    """Name the causes that do most, and sum the others up."""
    named: list[DifferencePart] = []
    left = whole
    for part in islice(parts, _MOST_NAMED):
        if abs(left) < _WORTH_NAMING * abs(whole):
            break
        named.append(part)
        left -= part.us
    labels = [part.label for part in named]
    figures = [part.us for part in named]
    if abs(left) >= _WORTH_NAMING * abs(whole):
        labels, figures = [*labels, "other"], [*figures, left]
    words = in_one_unit(*figures)
    return ", ".join(f"{us} {label}" for us, label in zip(words, labels, strict=True))


def _print_recording(page: Page, lead: str, recording: ComparedRecording) -> None:
    source, steps = recording.source, recording.steps
    page.paragraph(
        f"{source.path} ({source.kind}, rank {recording.rank}, {source.events:,} events)",
        lead=lead,
        lead_style="dim",
    )
    part = percent(steps.gpu_busy_us / steps.mean_us)
    page.paragraph(
        f"{recording.device.words}; {counted(steps.count, 'step')} by {steps.by}, GPU busy {part}",
        lead=" " * len(lead),
    )
    page.paragraph(step_time(recording.now), lead=" " * len(lead))


def _matched(matched: MatchedKernels) -> str:
    by_operator = f", {matched.by_operator:,} by their operator" if matched.by_operator else ""
    return (
        f"{matched.before:,} and {matched.after:,} in a step; {matched.by_name:,} match by name"
        f"{by_operator}"
    )


def _print_parts(page: Page, comparison: RecordingComparison, least: float) -> None:
    parts = [part for part in comparison.parts if abs(part.us) >= least]
    if not parts:
        return
    page.heading("What makes the difference, as recorded")
    for part in parts:
        _row(page, _signed(part.us), part.label, part.detail)
    _row(page, _signed(comparison.difference_us), "together", "")


def _row(page: Page, figure: str, label: str, detail: str) -> None:
    figure = f"{figure:>{_FIGURE}}"
    page.columns(Cell(figure, _FIGURE), Cell(label, _LABEL), Cell(detail, style="dim"))


def _print_shares(page: Page, shares: Sequence[ComparedShare], least: float) -> None:
    page.heading("Where the time of a step goes")
    _print_line(page, ("before", "after", "change"), Cell(""))
    for share in shares:
        if max(share.before_us, share.after_us) >= least:
            change = _signed(share.after_us - share.before_us)
            figures = time(share.before_us), time(share.after_us), change
            _print_line(page, figures, Cell(share.label))


def _print_work(page: Page, heading: str, rows: Sequence[ComparedWork], least: float) -> None:
    changed = [row for row in rows if abs(row.change_us) >= least][:_MOST_ROWS]
    if not changed:
        return
    page.heading(heading)
    _print_line(page, ("before", "after", "change"), Cell("calls", _CALLS), Cell(""))
    for row in changed:
        before = time(row.before_us) if row.before else "-"
        after = time(row.after_us) if row.after else "-"
        calls = [_count(count) for count in (row.before_calls, row.after_calls)]
        names = filter(None, (row.before, row.after))
        _print_line(
            page,
            (before, after, _signed(row.change_us)),
            Cell(" -> ".join(dict.fromkeys(calls)), _CALLS),
            Cell(" ->\n".join(dict.fromkeys(names))),
        )


def _print_line(page: Page, figures: Sequence[str], *words: Cell) -> None:
    page.columns(*(Cell(f"{text:>{_FIGURE}}", _FIGURE) for text in figures), *words)


def _count(calls: float) -> str:
    return quantity(round(calls, 1), "count")


def _signed(us: float) -> str:
    return f"+{time(us)}" if us > 0 else time(us)
