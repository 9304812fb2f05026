"""Units of every version of ncu, and what they come to."""

from __future__ import annotations

import pytest

from tailwave.profiles.ncu.units import base_unit


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
