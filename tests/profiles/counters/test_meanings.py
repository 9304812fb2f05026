"""Words that people measure by, and names that no chip has."""

from __future__ import annotations

import pytest

from tailwave.profiles.counters.meanings import MEANINGS, CounterWord, meant, plain


def meaning_of(word: str) -> CounterWord:
    """Return what is meant by a word that means something."""
    meaning = meant(word)
    assert meaning is not None
    return meaning


@pytest.mark.parametrize(
    "name", ["sms__warps_active", "SMS__WARPS_ACTIVE.avg", "sms__warps_active.sum"]
)
def test_an_invented_name_is_answered_with_what_was_meant(name: str) -> None:
    """With any roll-up, in any case."""
    assert meaning_of(name).counters == ("sm__warps_active.avg.per_cycle_active",)


def test_other_names_are_left_alone() -> None:
    """What exists is no invention, and not every word is a measure."""
    assert [meant(word) for word in ("sm__warps_active.avg", "gremlins", "")] == [None] * 3


@pytest.mark.parametrize(
    ("words", "counter"),
    [
        (("L2 hit rate", "l2_hit-rates", "命中率"), "lts__t_sector_hit_rate.pct"),
        (("issue gap", "Issue Gap Ratio"), "smsp__issue_active.avg.per_cycle_active"),
        (
            ("stall rate", "stall-rate"),
            "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
        ),
        (
            ("GPU utilisation", "gpu utilization", "SM utilisation", "利用率"),
            "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
        ),
        (("snoop", "cross-GPC"), "lts__t_sectors_srcunit_ltcfabric.sum"),
        (("arbiter", "仲裁器"), "lts__ltcfabric2lts_cycles_stalled.sum"),
    ],
)
def test_the_words_that_people_use(words: tuple[str, ...], counter: str) -> None:
    """In any spelling, the counters that measure it."""
    assert {counter in meaning_of(word).counters for word in words} == {True}


def test_each_word_means_one_thing() -> None:
    """No spelling is of two meanings."""
    words = [plain(name) for meaning in MEANINGS for name in meaning.names]
    assert len(set(words)) == len(words)
