"""Numbers in the languages of the machines that ncu runs on, and units of all its versions."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwave.profiles.ncu.numbers import base_unit, decimal_mark, number, readings

# How a language groups digits and begins decimals.
LANGUAGES = {
    "C": ("", "."),
    "English": (",", "."),
    "German": (".", ","),
    "French": ("\u202f", ","),
    "Czech": ("\u00a0", ","),
    "Russian": (" ", ","),
    "Swiss": ("\u2019", "."),
}


def written(value: Decimal, group: str, mark: str) -> str:
    """Write a number with grouped digits."""
    return f"{value:,f}".replace(",", "G").replace(".", mark).replace("G", group)


def read(text: str, decimal: str) -> Decimal | None:
    """Read a number in a file of a language."""
    found = readings(text)
    assert found
    return number(found, decimal)


@pytest.mark.parametrize(("group", "mark"), LANGUAGES.values(), ids=LANGUAGES)
@given(value=st.decimals(-(10**15), 10**15, allow_nan=False, places=2))
def test_a_number_comes_back_in_every_language(value: Decimal, group: str, mark: str) -> None:
    """With two decimals, as ncu writes, a number shows by itself which mark is which."""
    assert read(written(value, group, mark), "") == value


@pytest.mark.parametrize(("group", "mark"), LANGUAGES.values(), ids=LANGUAGES)
@given(
    value=st.integers(-(10**15), 10**15) | st.decimals(-(10**12), 10**12, places=6),
    shown=st.decimals(1, 10**9, places=2),
)
def test_a_file_tells_what_a_number_does_not(
    value: int | Decimal, shown: Decimal, group: str, mark: str
) -> None:
    """A number like 1,234 reads as the other numbers of its file do."""
    texts = [written(Decimal(value), group, mark), written(shown, group, mark)]
    assert read(texts[0], decimal_mark(texts)) == value


@pytest.mark.parametrize(
    ("text", "decimal", "expected"),
    [
        ("1,234", "", Decimal(1234)),  # English, or no language at all
        ("1.234", "", None),
        ("1.234", ".", Decimal("1.234")),
        ("1.234", ",", Decimal(1234)),
        ("1,234", "?", None),  # the file shows both
        ("1,234", ".", Decimal(1234)),
        ("1,234", ",", Decimal("1.234")),
        ("12345.678", "", Decimal("12345.678")),
        ("0.123", "", Decimal("0.123")),
        (".5", "", Decimal("0.5")),
        ("27.595.520", "", Decimal(27595520)),
        ("12,34,567", "", Decimal(1234567)),  # Indian
        ("1.234.567,5", "", Decimal("1234567.5")),
        ("1 234,567", "", Decimal("1234.567")),
        ("1e3", "", Decimal(1000)),
        ("-2.5E-3", "", Decimal("-0.0025")),
    ],
)
def test_one_number(text: str, decimal: str, expected: Decimal | None) -> None:
    """What a mark is follows from the number, else from the file, else it is not known."""
    assert read(text, decimal) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "n/a",
        "all",
        "0,2,4,6",
        "1,2.3,4",
        "1.2.3",
        "1 2",
        "(1, 2, 3)",
        "12 34.5",
        ",",
        ".,",
        "1..2",
        "1.234,567,8",
    ],
)
def test_what_is_no_number(text: str) -> None:
    """Words, lists and versions are not taken for numbers."""
    assert readings(text) == {}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1,234", "12.50"], "."),
        (["1.234", "12,50"], ","),
        (["27.595.520"], ","),
        (["1,234", "5"], ""),
        (["12,50", "12.50"], "?"),
        (["all", ""], ""),
    ],
)
def test_the_mark_of_a_file(texts: list[str], expected: str) -> None:
    """Only numbers that are sure decide, and only when they agree."""
    assert decimal_mark(texts) == expected


@given(st.text(alphabet="0123456789.,eE+- '\u00a0", max_size=20))
def test_any_text_is_a_number_or_not(text: str) -> None:
    """Nothing made of the letters of numbers breaks the reading."""
    found = readings(text)
    assert not found or isinstance(number(found, "."), Decimal)


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("nsecond", ("ns", 1)),
        ("usecond", ("ns", 10**3)),
        ("msecond", ("ns", 10**6)),
        ("second", ("ns", 10**9)),
        ("ns", ("ns", 1)),
        ("us", ("ns", 10**3)),
        ("ms", ("ns", 10**6)),
        ("s", ("ns", 10**9)),
        ("Kbyte", ("byte", 10**3)),
        ("Tbyte", ("byte", 10**12)),
        ("Gbyte/second", ("byte/s", 10**9)),
        ("Gbyte/s", ("byte/s", 10**9)),
        ("byte/nsecond", ("byte/s", 10**9)),
        ("Kbyte/block", ("byte/block", 10**3)),
        ("cycle/second", ("hz", 1)),
        ("cycle/nsecond", ("hz", 10**9)),
        ("cycle/usecond", ("hz", 10**6)),
        ("Ghz", ("hz", 10**9)),
        ("hz", ("hz", 1)),
        ("sector/s", ("sector/s", 1)),
        ("Msector", ("sector", 10**6)),
        ("sectors", ("sectors", 1)),
        ("branches", ("branches", 1)),
        ("inst/cycle", ("inst/cycle", 1)),
        ("register/thread", ("register/thread", 1)),
        ("%", ("%", 1)),
        ("SM", ("SM", 1)),
        ("", ("", 1)),
        ("furlong", ("furlong", 1)),
    ],
)
def test_a_unit_and_its_base(unit: str, expected: tuple[str, int]) -> None:
    """Times come to ns, rates to a second; what is not known stays."""
    assert base_unit(unit) == expected
