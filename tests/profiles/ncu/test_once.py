"""Launches that several files hold count once."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tailwave.model import Counter, KernelProfile, KernelProfiles, RuleKind, RuleResult
from tailwave.profiles.ncu import once
from tests.profiles.ncu.real_pages import launches, page, profiles

TIME = "gpu__time_duration.sum"
RULE = RuleResult("Tail", RuleKind.OPTIMIZATION, "Well.")
RAW, BASE, DETAILS = "planted_faults.raw", "planted_faults.raw.base", "planted_faults.details"


def launch(number: int | None = 0, time: float = 1000.0, **counters: float) -> KernelProfile:
    """Make a launch that was measured twice over; more counters make it tell more."""
    values = {TIME: time, "sm__cycles_active.avg": 7000.0, **counters}
    return KernelProfile(
        "k(int)",
        0,
        ("k(int)", "k"),
        grid=(8, 1, 1),
        process_id=42,
        number=number,
        counters={name: Counter(value) for name, value in values.items()},
    )


def files(*tables: tuple[KernelProfile, ...]) -> list[KernelProfiles]:
    """Make a file of each table: a.csv, b.csv."""
    return [
        KernelProfiles(table, "ncu-csv raw", f"{'abc'[n]}.csv") for n, table in enumerate(tables)
    ]


def left(*tables: tuple[KernelProfile, ...]) -> list[int]:
    """Return how many launches are left of each file."""
    return [len(file.profiles) for file in once(files(*tables))]


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        ((RAW, DETAILS), [16, 0]),
        ((DETAILS, RAW), [0, 16]),
        ((DETAILS, DETAILS), [16, 0]),
        ((RAW, BASE, DETAILS), [16, 0, 0]),
        ((RAW, "article_tests.raw"), [16, 6]),
        (("article_tests.details", "article_tests.raw"), [0, 6]),
    ],
)
def test_pages_of_one_report(names: tuple[str, ...], wanted: list[int]) -> None:
    """Whatever they round to, the page with the most counters is taken; others' stay."""
    assert left(*(profiles(page(name)) for name in names)) == wanted


def test_a_part_of_a_report() -> None:
    """Launches that the fuller page lacks are left where they are, in their order."""
    raw, details = (
        profiles(launches(page(RAW), (3, 5))),
        profiles(launches(page(DETAILS), (2, 3, 4, 5))),
    )
    one, other = once(files(raw, details))
    assert [profile.number for profile in one.profiles] == [3, 5]
    assert [profile.number for profile in other.profiles] == [2, 4]
    assert one.notes == ()
    assert other.notes == ("2 launches of b.csv count once, with the counters of a.csv.",)


def test_what_ncu_s_rules_say_is_kept() -> None:
    """The raw page has no rules, so it gets those of the details page."""
    raw, details = profiles(page(RAW)), profiles(page(DETAILS))
    [file, _] = once(files(raw, details))
    assert not any(profile.rules for profile in raw)
    assert [profile.rules for profile in file.profiles] == [profile.rules for profile in details]


def test_rules_that_there_are_stay() -> None:
    """They are of the same launch."""
    first = replace(launch(more=1.0), rules=(RULE,))
    second = replace(launch(), rules=(replace(RULE, name="Other"),))
    [file, other] = once(files((first,), (second,)))
    assert (file.profiles, other.profiles) == ((first,), ())
    assert other.notes == ("1 launch of b.csv counts once, with the counters of a.csv.",)


def test_each_launch_is_taken_once() -> None:
    """Three that look alike in one file, one in the other: two are left."""
    alike = launch(None)
    assert left((alike, alike, alike), (launch(None, more=1.0),)) == [2, 1]
    assert left((alike, alike, alike), ()) == [3, 0]


@pytest.mark.parametrize(
    ("change", "is_same"),
    [
        ({"names": ("_Z1ki", "k")}, True),
        ({"name": "j", "names": ()}, False),
        ({"process_id": None, "number": None, "grid": None}, True),
        ({"process_id": 43}, False),
        ({"number": 1}, False),
        ({"grid": (4, 2, 1)}, False),
        ({"counters": {}}, False),
        ({"counters": {TIME: Counter(0.0)}}, False),
        ({"counters": {TIME: Counter(1000.0)}}, True),
        ({"counters": {TIME: Counter(1005.0)}}, True),  # 1.00 us of one page
        ({"counters": {TIME: Counter(1006.0)}}, False),
        ({"counters": {TIME: Counter(995.0)}}, True),
        ({"counters": {TIME: Counter(994.0)}}, False),
    ],
)
def test_one_launch_is_the_same_in_all_that_is_known(
    change: dict[str, object], *, is_same: bool
) -> None:
    """Its process, number, shape and time; without a time it is not known to be."""
    other = replace(launch(), **change)
    assert left((launch(more=1.0),), (other,)) == [1, 0 if is_same else 1]


@pytest.mark.parametrize(("off", "is_same"), [(2, True), (3, False)])
def test_nearly_all_counters_agree(off: int, *, is_same: bool) -> None:
    """Of 22 counters of two launches two may differ; sizes count for nothing."""
    counters = {f"m{n}": 100.0 for n in range(20)}
    sizes = {f"launch__{n}": 5.0 for n in range(20)}
    changed = {f"m{n}": 102.0 for n in range(off)}
    first, second = (
        launch(0, 1e3, **counters, **sizes, more=1.0),
        launch(0, 1e3, **counters | changed, **sizes),
    )
    assert left((first,), (second,)) == [1, 0 if is_same else 1]


def test_the_time_must_agree() -> None:
    """However many other counters do."""
    counters = {f"m{n}": 100.0 for n in range(20)}
    assert left((launch(0, 1000.0, **counters, more=1.0),), (launch(0, 1006.0, **counters),)) == [
        1,
        1,
    ]


def test_small_ratios_agree_to_two_decimals() -> None:
    """A page has 0.01 where the report has 0.0149 or 0.0051."""
    assert left((launch(a=0.0149, b=0.0051),), (launch(a=0.01, b=0.01),)) == [1, 0]


@pytest.mark.parametrize("factor", [0.995, 1 / 0.995])
def test_a_time_is_found_wherever_it_lies(factor: float) -> None:
    """Rounded up or down, of any length."""
    times = [1000.0 * 1.001**n for n in range(30)]
    assert [left((launch(time=t, m=1.0),), (launch(time=t * factor),)) for t in times] == [
        [1, 0] for _ in times
    ]
