"""Numbers as ncu writes them in the language of the machine: 1,234.5 or 1.234,5 or 1 234,5."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

MARKS = ".,"
AMBIGUOUS = "the file does not show whether its marks group digits or begin decimals"
_SPACES = " '\u2019\u00a0\u202f"  # what groups digits in French, Swiss and Nordic settings
_NUMBER = re.compile(rf"([+-]?)([0-9.,][0-9.,{_SPACES}]*?)([eE][+-]?[0-9]{{1,3}})?")
_SPACED = re.compile(rf"[0-9]{{1,3}}(?:[{_SPACES}][0-9]{{3}})+(?=[.,]|$)")
_GROUPS = re.compile(r"[0-9]{1,3}(?:[.,][0-9]{2,3})*[.,][0-9]{3}")  # the inner ones may be Indian
_DIGITS = re.compile(r"[0-9]*")


class Written(NamedTuple):
    """A number taken apart: ``mark`` begins its decimals, or is "?" where that cannot be told.

    ``head`` holds the digits before the last mark, ``tail`` those after it.
    """

    sign: str
    head: str
    mark: str  # ".", "," or "" for a number without decimals
    tail: str
    exponent: str
    certain: bool
    groups: str  # the mark that groups its digits, "" for none


def taken_apart(text: str) -> Written | None:
    """Take a number apart; None for what is no number."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return None
    sign, body, exponent = match[1], match[2], match[3] or ""
    spaced = _SPACED.match(body)
    if spaced:
        body = re.sub(f"[{_SPACES}]", "", spaced[0]) + body[spaced.end() :]
    parts = _parts(body, spaced=spaced is not None)
    if parts is None:
        return None
    return Written(sign, parts[0], parts[1], parts[2], exponent, parts[3], parts[4])


def _parts(body: str, *, spaced: bool) -> tuple[str, str, str, bool, str] | None:
    """Split at the mark of the decimals: head, mark, tail, whether it is sure, the other mark."""
    marks = [letter for letter in body if letter in MARKS]
    if not marks:
        return (body, "", "", True, "") if body.isdigit() else None
    last, kinds = marks[-1], set(marks)
    head, _, tail = body.rpartition(last)
    if len(kinds) == 1 and len(marks) > 1:  # 1,234,567: nothing has two decimal marks
        return (_joined(body), "", "", True, last) if _GROUPS.fullmatch(body) else None
    if len(kinds) > 1:
        grouped = _GROUPS.fullmatch(head) and last not in head
        other = (kinds - {last}).pop()
        return (_joined(head), last, tail, True, other) if grouped and tail.isdigit() else None
    if not _DIGITS.fullmatch(head) or not _DIGITS.fullmatch(tail) or not head + tail:
        return None
    groups = len(tail) == 3 and 0 < len(head) <= 3 and head[0] != "0" and not spaced  # noqa: PLR2004
    return head, last, tail, not groups, ""


def _joined(grouped: str) -> str:
    return re.sub(r"[.,]", "", grouped)


def decimal_mark(texts: Iterable[str]) -> str:
    """Return the mark that begins decimals in a file; "" if its numbers do not show it, or both."""
    shown: set[str] = set()
    for text in texts:
        written = taken_apart(text)
        if written is None or not written.certain:
            continue
        if written.mark:
            shown.add(written.mark)
        elif written.groups:
            shown.add(MARKS.replace(written.groups, ""))
    return shown.pop() if len(shown) == 1 else "" if not shown else "?"


def number(written: Written, decimal: str) -> Decimal | None:
    """Return the number, in a file whose decimals begin with ``decimal``; None if ambiguous.

    A file that shows no decimal mark at all is taken to group with commas, as ncu does in English
    and without a language; a full stop could be either there.
    """
    sign, head, mark, tail, exponent, certain, _ = written
    if not certain and decimal != mark:
        if decimal not in MARKS or (not decimal and mark == "."):
            return None
        head, tail = head + tail, ""
    return Decimal(f"{sign}{head or 0}.{tail or 0}{exponent}")
