"""Which counters answer a question: of a rule, of a word that people use, of a counter's name."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Iterator

import msgspec

from tailwave.errors import UnavailableError, UnknownNameError, UsageError
from tailwave.profiles.counters import catalogue
from tailwave.profiles.counters.meanings import MEANINGS, meant, plain
from tailwave.profiles.counters.names import (
    base,
    chip_of,
    near,
    of_the_launch,
    unknown,
    wrong_ending,
)
from tailwave.profiles.rules import KERNEL_RULES
from tailwave.profiles.rules.base import KernelRule

_MARK = "__"  # every counter's name has it
_DURATION = "gpu__time_duration.sum"
# What a launch is and what fits an SM; these sections bring it on every version of ncu.
_SECTIONS = ("--section", "LaunchStats", "--section", "Occupancy")
_REPORT, _PROGRAM = "kernels", "YOUR_PROGRAM"
_ALIKE = 0.6  # of two words, by difflib's ratio

_RULES = {rule.CODE: rule for rule in KERNEL_RULES}
_OURS = frozenset(base(name) for rule in KERNEL_RULES for name in rule.METRICS)


class QuestionAnswer(msgspec.Struct, frozen=True):
    """What a question needs: counters that the chip has, and those that it has not."""

    code: str
    question: str
    metrics: tuple[str, ...]
    lacking: tuple[str, ...] = ()


class NameCheck(msgspec.Struct, frozen=True):
    """What is said of a counter's name, or of a word; ``exists`` is None where no list says.

    ``instead`` are the counters that it means where ``says`` tells what that is, else near names.
    """

    name: str
    exists: bool | None
    says: str = ""
    instead: tuple[str, ...] = ()


class Counters(msgspec.Struct, frozen=True):
    """The counters that answer what was asked; ``why_not_checked`` where no list of the chip is."""

    chip: str
    why_not_checked: str
    questions: tuple[QuestionAnswer, ...]
    names: tuple[NameCheck, ...]

    @property
    def command(self) -> str:
        """The ncu command that records them, with the program in place of its last word; or ""."""
        wanted = [name for question in self.questions for name in question.metrics]
        wanted += [name for check in self.names if check.says for name in check.instead]
        return ncu_command([_DURATION, *wanted]) if wanted else ""


def find_counters(texts: Iterable[str], codes: Iterable[str], chip: str) -> Counters:
    """Answer texts (questions, words, names of counters, ncu's lists of them) and rules' codes.

    ``chip`` is its name, or its compute capability. Nothing asked is every question. UsageError
    for what nobody asks, and for a chip that is not listed.
    """
    names, wanted = [], {_code(text) for text in codes}
    for text in _texts(texts):
        found = _questions(text)
        if _MARK in text or (not found and meant(text)):
            names.append(text)
        elif found:
            wanted |= found
        else:
            sentence = f"no question speaks of {text!r}; {_suggestion(text)}"
            raise UnknownNameError(sentence, text, _RULES)
    everything = not wanted and not names
    chip = chip_of(chip)
    known, why = _known(chip)
    return Counters(
        chip=chip,
        why_not_checked=why,
        questions=tuple(
            _answer(rule, known) for code, rule in _RULES.items() if code in wanted or everything
        ),
        names=tuple(_check(name, known) for name in names),
    )


def ncu_command(names: Iterable[str]) -> str:
    """Return a line that records counters, with the program's own command as its last word."""
    each = list(dict.fromkeys(names))
    counters = [name for name in each if not of_the_launch(name)]
    parts = ["ncu", *(_SECTIONS if len(counters) < len(each) else ())]
    parts += ["--metrics", ",".join(counters)] if counters else []
    return shlex.join([*parts, "-o", _REPORT, _PROGRAM])


def _texts(texts: Iterable[str]) -> Iterator[str]:
    """Yield what was asked: counters of comma lists one by one, words that are one question."""
    words = []
    for text in texts:
        pieces = re.split(r"[,\s]+" if _MARK in text else ",", text)
        for piece in filter(None, map(str.strip, pieces)):
            if _MARK in piece:
                yield piece
            else:
                words.append(piece)
    whole = " ".join(words)
    is_one = len(_questions(whole)) == 1 or meant(whole)
    are_each = all(_questions(word) or meant(word) for word in words)
    yield from words if are_each and not is_one else [whole]


def _questions(text: str) -> set[str]:
    """Return the codes of the questions that a text asks: by its code, else of all that say it."""
    asked = plain(text).removesuffix("s")  # of many conflicts as of one
    if asked in _RULES or meant(text):
        return {asked} & _RULES.keys()
    return {
        code
        for code, rule in _RULES.items()
        if asked in plain(f"{rule.CODE} {rule.QUESTION} {rule.TITLE}")
    }


def _code(text: str) -> str:
    code = plain(text)
    if code not in _RULES:
        sentence = f"no finding of a kernel is called {text!r}; {_suggestion(text)}"
        raise UnknownNameError(sentence, text, _RULES)
    return code


def _suggestion(text: str) -> str:
    """Name what is nearest to a text that nothing answers, else all that there is."""
    words = {plain(name): name for meaning in MEANINGS for name in meaning.names}
    names = {**words, **{code: code for code in _RULES}}
    close = difflib.get_close_matches(plain(text), names, n=1, cutoff=_ALIKE)
    return f"did you mean {names[close[0]]}?" if close else f"there are {', '.join(_RULES)}."


def _known(chip: str) -> tuple[frozenset[str] | None, str]:
    """Return the chip's names, or why there are none; UsageError for a chip that is not listed."""
    try:
        lists = catalogue.Catalogue()
        chips = lists.chips()
        if chip in chips:
            return lists.names(chip), ""
    except UnavailableError as error:
        return None, str(error)
    raise UsageError(
        f"there is no list of a chip {chip!r}; there are {', '.join(chips)}, or give a compute "
        "capability (9.0 or sm_90)."
    )


def _answer(rule: KernelRule, known: frozenset[str] | None) -> QuestionAnswer:
    lacking = () if known is None else unknown(rule.METRICS, known)
    has_answer = not set(rule.NEEDED) & set(lacking)
    metrics = tuple(name for name in rule.METRICS if has_answer and name not in lacking)
    return QuestionAnswer(rule.CODE, rule.QUESTION, metrics, lacking)


def _check(text: str, known: frozenset[str] | None) -> NameCheck:
    if (meaning := meant(text)) is not None:
        return NameCheck(text, exists=False, says=meaning.says, instead=meaning.counters)
    name = text.lower()
    if known is None:
        close = () if base(name) in _OURS else near(name, _OURS)
        return NameCheck(name, exists=None, instead=close)
    if unknown((name,), known):
        return NameCheck(name, exists=False, instead=near(name, known))
    wrong = wrong_ending(name)
    says = f"what stands behind {base(name)} must be {wrong}" if wrong else ""
    return NameCheck(name, exists=not wrong, says=says)
