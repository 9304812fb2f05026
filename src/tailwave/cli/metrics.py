"""``tailwave metrics [QUESTION...]``: which counters answer a question, as an ncu command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

if TYPE_CHECKING:
    from tailwave.profiles import Counters, NameCheck, QuestionAnswer
    from tailwave.reports.page import Page

SCHEMA = 1
_DEFAULT_CHIP = "gh100"


@click.command()
@click.argument("questions", nargs=-1, metavar="[QUESTION]...")
@click.option(
    "codes", "--for", multiple=True, metavar="CODE", help="A finding's code (repeatable)."
)
@click.option(
    "--chip",
    default=_DEFAULT_CHIP,
    show_default=True,
    help="The chip to check names against, or its compute capability.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (schema 1).")
def command(
    questions: tuple[str, ...], codes: tuple[str, ...], *, chip: str, as_json: bool
) -> None:
    """Say which counters answer a question, as an ncu command line that is ready to run.

    QUESTION is a finding's code, words of its question ("bank", "barriers"), what people call a
    figure ("L2 hit rate", "issue gap"), or names of counters, as ncu takes them too (a,b,c), which
    are checked. Without any, all questions are listed.
    """
    from tailwave.profiles import find_counters  # noqa: PLC0415 - numpy is not needed for --help

    found = find_counters(questions, codes, chip)
    if as_json:
        click.echo(_document(found))
        return
    from tailwave.cli.console import ReportConsole  # noqa: PLC0415 - rich is slow to import
    from tailwave.reports.page import Page  # noqa: PLC0415 - as above

    page = Page(ReportConsole())
    for check in found.names:
        _print_name(page, check)
    for answer in found.questions:
        _print_answer(page, answer, listing=not (questions or codes))
    if found.command:
        click.echo(f"\n{found.command}\n")  # to be pasted, and so one line
    why = f"Names were not checked: {found.why_not_checked}"
    checked = f"Names were checked against the list of {found.chip}."
    page.paragraph(why if found.why_not_checked else checked)


def _print_name(page: Page, check: NameCheck) -> None:
    named = "__" in check.name
    if check.exists:
        page.paragraph(f"{check.name} exists.")
    elif check.says:
        what = " exists on no chip" if named else ""
        record = " Record:" if check.instead else ""
        page.paragraph(f"{check.name}{what}: {check.says}.{record}")
    else:
        what = "could not be looked up" if check.exists is None else "does not exist here"
        page.paragraph(f"{check.name} {what}.{' Did you mean:' if check.instead else ''}")
    for name in check.instead:
        click.echo(f"  {name}")


def _print_answer(page: Page, answer: QuestionAnswer, *, listing: bool) -> None:
    page.paragraph(answer.question, lead=f"{answer.code:18} ")
    if answer.lacking:
        so = "" if answer.metrics else ", so it has no answer there"
        lacking = f"the chip does not have {', '.join(answer.lacking)}{so}"
        page.paragraph(lacking, lead=" " * 19)
    if not listing:
        for name in answer.metrics:
            click.echo(f"  {name}")


def _document(found: Counters) -> str:
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "chip": found.chip,
        "checked": not found.why_not_checked,
        "why_not_checked": found.why_not_checked or None,
        "questions": found.questions,
        "names": found.names,
        "command": found.command or None,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
