"""An explanation for a person at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailwave.explanations.entry import Entry, Kind, Section
from tailwave.reports.page import Cell, Page

if TYPE_CHECKING:
    from rich.console import Console

    from tailwave.explanations.explanation import Explanation

_INDENT = "  "
_LEAD = "{:10}"  # of the lines at an entry's end
# What to call each kind in the list; of some only a few names are listed.
_LISTED = {
    Kind.FINDING: ("findings", None),
    Kind.CURE: ("cures", None),
    Kind.LINK: ("links", None),
    Kind.PROBE: ("probes", None),
    Kind.FIGURE: ("figures", 3),
    Kind.COUNTER: ("counters", 3),
    Kind.VARIABLE: ("variables", None),
    Kind.XID: ("XIDs", None),
    Kind.WORD: ("words", None),
}
# These are told in full even where a word means several things: they are what people ask for.
_IN_FULL = {Kind.FINDING, Kind.CURE, Kind.VARIABLE, Kind.XID, Kind.WORD}


def render(explanation: Explanation, console: Console) -> None:
    """Print what a word means; of no word, the names of all that can be explained."""
    page = Page(console)
    if explanation.note:
        page.paragraph(explanation.note)
        page.blank()
    if explanation.word:
        _print_entries(page, explanation.entries)
    else:
        _print_list(page, explanation.entries)


def _print_list(page: Page, entries: tuple[Entry, ...]) -> None:
    width = max(len(plural) for plural, _ in _LISTED.values())
    for kind, (plural, most) in _LISTED.items():
        names = [_listed(entry) for entry in entries if entry.kind is kind]
        rest = f" and {len(names) - most} more" if most else ""
        page.columns(Cell(plural, width, "bold"), Cell(", ".join(names[:most]) + rest))
    page.blank()
    page.paragraph("To have one explained: tailwave explain WORD")


def _listed(entry: Entry) -> str:
    name = entry.name.removeprefix("XID ")
    return f"{name} ({entry.chinese})" if entry.chinese else name


def _print_entries(page: Page, entries: tuple[Entry, ...]) -> None:
    """Print one entry in full; of several, those in brief that only a closer look needs."""
    full = [entry for entry in entries if entry.kind in _IN_FULL or len(entries) == 1]
    brief = [entry for entry in entries if entry not in full]
    for number, entry in enumerate(full):
        if number:
            page.blank()
        _print_whole(page, entry)
    if full and brief:
        page.blank()
    width = max((len(entry.kind.value) for entry in brief), default=0)
    for entry in brief:
        lines = f"{entry.claim}\ntailwave explain {entry.kind.value} {entry.name}"
        page.columns(Cell(entry.kind.value, width, "bold"), Cell(lines))


def _print_whole(page: Page, entry: Entry) -> None:
    chinese = f" ({entry.chinese})" if entry.chinese else ""
    page.paragraph(f"{entry.name}{chinese}: {entry.claim}")
    for section in entry.sections:
        _print_section(page, section)
    ends = (
        ("Run:", entry.commands),
        ("See also:", (", ".join(entry.see),) if entry.see else ()),
        ("Source:", (entry.source,) if entry.source else ()),
    )
    if any(lines for _, lines in ends):
        page.blank()
    for head, lines in ends:
        for number, line in enumerate(lines):
            page.paragraph(line, lead=_LEAD.format("" if number else head))


def _print_section(page: Page, section: Section) -> None:
    page.blank()
    if section.heading:
        page.paragraph(f"{section.heading}:")
    for text in section.text:
        item = text.removeprefix("- ")
        page.paragraph(item, lead=f"{_INDENT}- " if item != text else _INDENT)
