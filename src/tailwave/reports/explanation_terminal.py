"""An explanation for a person at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailwave.model import Explanation, Meaning, MeaningKind, Section
from tailwave.reports.page import Cell, Page

if TYPE_CHECKING:
    from rich.console import Console

_INDENT = "  "
_LEAD = "{:10}"  # of the lines at a meaning's end
# What to call each kind in the list; of some only a few names are listed.
_LISTED = {
    MeaningKind.FINDING: ("findings", None),
    MeaningKind.CURE: ("cures", None),
    MeaningKind.LINK: ("links", None),
    MeaningKind.PROBE: ("probes", None),
    MeaningKind.FIGURE: ("figures", 3),
    MeaningKind.COUNTER: ("counters", 3),
    MeaningKind.VARIABLE: ("variables", None),
    MeaningKind.XID: ("XIDs", None),
    MeaningKind.WORD: ("words", None),
}
# These are told in full even where a word means several things: they are what people ask for.
_IN_FULL = {
    MeaningKind.FINDING,
    MeaningKind.CURE,
    MeaningKind.VARIABLE,
    MeaningKind.XID,
    MeaningKind.WORD,
}


def render_explanation(explanation: Explanation, console: Console) -> None:
    """Print what a word means; of no word, the names of all that can be explained."""
    page = Page(console)
    if explanation.note:
        page.paragraph(explanation.note)
        page.blank()
    if explanation.word:
        _print_meanings(page, explanation.meanings)
    else:
        _print_list(page, explanation.meanings)


def _print_list(page: Page, meanings: tuple[Meaning, ...]) -> None:
    width = max(len(plural) for plural, _ in _LISTED.values())
    for kind, (plural, most) in _LISTED.items():
        names = [_listed(meaning) for meaning in meanings if meaning.kind is kind]
        rest = f" and {len(names) - most} more" if most else ""
        page.columns(Cell(plural, width, "bold"), Cell(", ".join(names[:most]) + rest))
    page.blank()
    page.paragraph("To have one explained: tailwave explain WORD")


def _listed(meaning: Meaning) -> str:
    name = meaning.name.removeprefix("XID ")
    return f"{name} ({meaning.chinese})" if meaning.chinese else name


def _print_meanings(page: Page, meanings: tuple[Meaning, ...]) -> None:
    """Print one meaning in full; of several, those in brief that only a closer look needs."""
    full = [meaning for meaning in meanings if meaning.kind in _IN_FULL or len(meanings) == 1]
    brief = [meaning for meaning in meanings if meaning not in full]
    for number, meaning in enumerate(full):
        if number:
            page.blank()
        _print_whole(page, meaning)
    if full and brief:
        page.blank()
    width = max((len(meaning.kind.value) for meaning in brief), default=0)
    for meaning in brief:
        lines = f"{meaning.claim}\ntailwave explain {meaning.kind.value} {meaning.name}"
        page.columns(Cell(meaning.kind.value, width, "bold"), Cell(lines))


def _print_whole(page: Page, meaning: Meaning) -> None:
    chinese = f" ({meaning.chinese})" if meaning.chinese else ""
    page.paragraph(f"{meaning.name}{chinese}: {meaning.claim}")
    for section in meaning.sections:
        _print_section(page, section)
    ends = (
        ("Run:", meaning.commands),
        ("See also:", (", ".join(meaning.see),) if meaning.see else ()),
        ("Source:", (meaning.source,) if meaning.source else ()),
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
