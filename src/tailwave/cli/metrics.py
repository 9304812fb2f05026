"""``tailwave metrics [QUESTION...]``: which counters answer a question, as an ncu command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from tailwave.errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from types import ModuleType

SCHEMA = 1
_DEFAULT_CHIP = "gh100"
_DURATION = "gpu__time_duration.sum"
_MARK = "__"  # every counter's name has it


class _Answer(msgspec.Struct):
    """What a question needs: counters that the chip has, and those that it has not."""

    code: str
    question: str
    metrics: tuple[str, ...]
    lacking: tuple[str, ...] = ()


class _Name(msgspec.Struct):
    """What is said of a counter's name; ``exists`` is None where no list says."""

    name: str
    exists: bool | None
    says: str = ""
    instead: tuple[str, ...] = ()


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

    QUESTION is a finding's code, words of its question ("bank", "barriers"), or the name of a
    counter, which is checked. Without any, all questions are listed.
    """
    from tailwave.profiles.counters.meant import meant_by  # noqa: PLC0415 - not needed for --help
    from tailwave.profiles.counters.names import chip_of  # noqa: PLC0415

    chip = chip_of(chip)
    names = [text for text in questions if _MARK in text or meant_by(text)]
    words = [text for text in questions if text not in names]
    known, why = _known(chip)
    asked = _asked(words, codes) if words or codes or not names else []
    answers = [_answer(rule, known) for rule in asked]
    checked = [_check(name, known) for name in names]
    if as_json:
        click.echo(_document(chip, why, answers, checked))
        return
    _print_names(checked)
    _print_answers(answers, listing=not (words or codes))
    if known is not None:
        click.echo(f"Names were checked against the list of {chip}.")
    else:
        click.echo(f"Names were not checked: {why}")


def _known(chip: str) -> tuple[frozenset[str] | None, str]:
    """Return the chip's names, or why there are none; UsageError for a chip that is not listed."""
    from tailwave.profiles.counters.catalogue import Catalogue  # noqa: PLC0415 - loads a native library

    try:
        catalogue = Catalogue()
        chips = catalogue.chips()
        if chip in chips:
            return catalogue.names(chip), ""
    except UnavailableError as error:
        return None, str(error)
    raise UsageError(
        f"there is no list of a chip {chip!r}; there are {', '.join(chips)}, or give a compute "
        "capability (9.0 or sm_90)."
    )


def _asked(words: list[str], codes: tuple[str, ...]) -> list[ModuleType]:
    """Return the rules that are asked for, in their order; all of them when nothing is."""
    from tailwave.profiles.rules import KERNEL_RULES  # noqa: PLC0415 - numpy is not needed for --help

    known = {rule.CODE: rule for rule in KERNEL_RULES}
    wanted: set[str] = set()
    for code in codes:
        if code not in known:
            raise UsageError(f"no finding of a kernel is called {code!r}; {_there_are(known)}.")
        wanted.add(code)
    for word in words:
        found = {code for code, rule in known.items() if _speaks_of(rule, word)}
        if not found:
            raise UsageError(f"no question speaks of {word!r}; {_there_are(known)}.")
        wanted |= found
    return [rule for code, rule in known.items() if code in wanted or not (words or codes)]


def _speaks_of(rule: ModuleType, word: str) -> bool:
    text = f"{rule.CODE} {rule.CODE.replace('-', ' ')} {rule.QUESTION} {rule.TITLE}".lower()
    return word.lower() in text


def _there_are(known: dict[str, ModuleType]) -> str:
    return f"there are {', '.join(known)}"


def _answer(rule: ModuleType, known: frozenset[str] | None) -> _Answer:
    from tailwave.profiles.counters.names import unknown  # noqa: PLC0415 - not needed for --help

    lacking = () if known is None else unknown(rule.METRICS, known)
    answerable = not set(getattr(rule, "NEEDED", ())) & set(lacking)
    metrics = tuple(name for name in rule.METRICS if answerable and name not in lacking)
    return _Answer(rule.CODE, rule.QUESTION, metrics, lacking)


def _check(name: str, known: frozenset[str] | None) -> _Name:
    from tailwave.profiles.counters.meant import meant_by  # noqa: PLC0415 - not needed for --help
    from tailwave.profiles.counters.names import base, near, unknown, wrong_ending  # noqa: PLC0415

    meant = meant_by(name)
    if meant is not None:
        says, instead = meant
        return _Name(name, exists=False, says=says, instead=instead)
    if known is None:
        return _Name(name, exists=None)
    if not unknown((name,), known):
        wrong = wrong_ending(name)
        says = f"what stands behind {base(name)} must be {wrong}" if wrong else ""
        return _Name(name, exists=not wrong, says=says)
    return _Name(name, exists=False, says="", instead=near(name, known))


def _print_names(checked: list[_Name]) -> None:
    for one in checked:
        if one.exists:
            click.echo(f"{one.name} exists.")
        elif one.exists is None:
            click.echo(f"{one.name} could not be looked up.")
        elif one.says:
            record = " Record:" if one.instead else ""
            click.echo(f"{one.name} exists on no chip: {one.says}.{record}")
        else:
            click.echo(f"{one.name} does not exist here.{' Near to it:' if one.instead else ''}")
        for name in one.instead:
            click.echo(f"  {name}")
    _print_command([name for one in checked if one.says for name in one.instead])


def _print_answers(answers: list[_Answer], *, listing: bool) -> None:
    for answer in answers:
        click.echo(f"{answer.code:18} {answer.question}")
        if answer.lacking:
            so = "" if answer.metrics else ", so it has no answer there"
            click.echo(f"{'':18} the chip does not have {', '.join(answer.lacking)}{so}")
        if not listing:
            for name in answer.metrics:
                click.echo(f"  {name}")
    _print_command([name for answer in answers for name in answer.metrics])


def _print_command(names: list[str]) -> None:
    from tailwave.profiles.counters.command import ncu_command  # noqa: PLC0415 - not needed for --help

    if names:
        click.echo(f"\n{ncu_command([_DURATION, *names])}\n")


def _document(chip: str, why: str, answers: list[_Answer], checked: list[_Name]) -> str:
    from tailwave.profiles.counters.command import ncu_command  # noqa: PLC0415 - not needed for --help

    wanted = [name for answer in answers for name in answer.metrics]
    wanted += [name for one in checked if one.says for name in one.instead]
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "chip": chip,
        "checked": not why,
        "why_not_checked": why or None,
        "questions": answers,
        "names": checked,
        "command": ncu_command([_DURATION, *wanted]) if wanted else None,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
