"""The map of the die, from clusters and fingerprints that were made up."""

from __future__ import annotations

import numpy as np
import pytest

from tailwave.gpu.probes.die import draw, nearer
from tailwave.model import Floats

SMS = tuple(range(20))
# Three GPCs of 8, 6 and 6 SMs; SMs 18 and 19 are a spare TPC of the first.
GPCS = ((0, 1, 6, 7, 12, 13, 18, 19), (2, 3, 8, 9, 14, 15), (4, 5, 10, 11, 16, 17))
PAIRS = tuple((sm, sm + 1) for sm in SMS[::2])
FOURS = (
    (0, 1, 6, 7),
    (6, 7, 12, 13),
    (2, 3, 8, 9),
    (8, 9, 14, 15),
    (4, 5, 10, 11),
    (10, 11, 16, 17),
)
LINES = 128


def fingerprints(noise: float, spacing: float = 3.0) -> Floats:
    """Make a row per SM: its GPC's pattern, its own offset, and noise (cycles)."""
    rng = np.random.default_rng(7)
    pattern = {sm: row for sms in GPCS for row in [rng.normal(0, spacing, LINES)] for sm in sms}
    rows = [300 + 2 * sm + pattern[sm] + rng.normal(0, noise, LINES) for sm in SMS]
    return np.array(rows)


def test_clusters_and_fingerprints_give_exact_groups() -> None:
    """Clusters make the groups, and the spare TPC goes to the group that it resembles."""
    die = draw(SMS, {2: PAIRS, 4: FOURS}, fingerprints(noise=0.3))
    assert die.gpcs == GPCS
    assert die.tpcs == PAIRS
    assert min(place.confidence for place in die.places) > 0.99


def test_where_both_agree_is_sure() -> None:
    """Clusters and fingerprints that agree leave no doubt."""
    die = draw(SMS, {2: PAIRS, 4: FOURS}, fingerprints(noise=0.3))
    assert {die.place(sm).confidence for sm in SMS[:18]} == {1.0}


def test_fingerprints_that_are_noise_place_nothing_surely() -> None:
    """A spare TPC whose row is noise is placed, and said to be uncertain."""
    die = draw(SMS, {2: PAIRS, 4: FOURS}, fingerprints(noise=3.0, spacing=0.0))
    assert die.place(18).confidence < 0.95
    assert sum(place.confidence == 0.5 for place in die.places) > 5


def test_fingerprints_alone_give_groups() -> None:
    """A device that runs no clusters is grouped by likeness; TPCs are then the neighbours."""
    die = draw(SMS, {}, fingerprints(noise=0.3))
    assert die.gpcs == GPCS
    assert die.tpcs == PAIRS


def test_an_sm_that_was_seen_with_two_has_its_neighbour_in_its_tpc() -> None:
    """A cluster of two may span TPCs; a partner that is not the only one is none."""
    die = draw(SMS, {2: (*PAIRS, (1, 2)), 4: FOURS}, fingerprints(noise=0.3))
    assert die.tpcs == PAIRS


def test_on_a_die_of_one_gpc_a_spare_tpc_is_not_sure() -> None:
    """There is no other group that it could be nearer to."""
    rng = np.random.default_rng(11)
    die = draw(range(8), {4: [(0, 1, 2, 3), (2, 3, 4, 5)]}, rng.normal(300, 1, (8, LINES)))
    assert die.gpcs == (tuple(range(8)),)
    assert [die.place(sm).confidence for sm in (0, 6)] == [1.0, 0.5]


def test_cpcs_show_where_each_gpc_falls_apart() -> None:
    """Groups within every GPC, each of its own pattern, are CPCs."""
    rng = np.random.default_rng(3)
    sms = tuple(range(32))
    halves = [tuple(range(start, start + 8)) for start in range(0, 32, 8)]
    patterns = [pattern for _ in halves for pattern in [rng.normal(0, 3, LINES)] for _ in range(8)]
    pairs = [(sm, sm + 1) for sm in sms[::2]]
    gpcs = [sms[:16], sms[16:]]
    die = draw(
        sms, {2: pairs, 16: gpcs}, 300 + np.array(patterns) + rng.normal(0, 0.3, (32, LINES))
    )
    assert die.gpcs == tuple(gpcs)
    assert [place.cpc for place in die.places] == [sm // 8 for sm in sms]


def test_cpcs_that_do_not_show_are_unknown() -> None:
    """GPCs that do not fall apart have no CPC, rather than one of ours."""
    die = draw(SMS, {2: PAIRS, 4: FOURS}, fingerprints(noise=0.3))
    assert {place.cpc for place in die.places} == {None}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [(1.0, 1.0, 0.0), (0.35, 1.0, 1.0), (0.49, 0.65, 0.9999), (0.9, 1.0, 0.9074)],
)
def test_the_nearer_of_two_is_as_sure_as_their_difference(
    first: float, second: float, expected: float
) -> None:
    """Equal distances say nothing; the differences seen on an H200 are decisive."""
    assert nearer(first, second, lines=256) == pytest.approx(expected, abs=1e-3)
