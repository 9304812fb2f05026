"""Groups, and whether a distribution has two humps."""

from __future__ import annotations

import numpy as np
import pytest

from tailwave.gpu.probes.groups import components, cut_in_two, linked


def test_shared_members_join_groups() -> None:
    """Groups that share a member are one, by whatever chain."""
    assert components(6, [(0, 1), (4, 5), (1, 3)]) == [[0, 1, 3], [2], [4, 5]]


def test_linkage_cuts_at_the_longest_step() -> None:
    """Three clumps on a line come apart; the quotient is that of the two link lengths."""
    places = np.array([0.0, 1.0, 2.0, 100.0, 101.0, 200.0, 201.0])
    groups, gap = linked(np.abs(places[:, None] - places))
    assert (groups, gap) == ([[0, 1, 2], [3, 4], [5, 6]], 98.0)


def test_what_does_not_come_apart_is_one_group() -> None:
    """Equal distances have no longest step."""
    assert linked(np.ones((5, 5)) - np.eye(5)) == ([[0, 1, 2, 3, 4]], 1.0)


def test_two_far_humps_are_two() -> None:
    """Two normal humps six deviations apart are told apart where they were made."""
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.normal(0, 1, 100), rng.normal(6, 1, 60)])
    found = cut_in_two(values.tolist())
    assert found.two_humps
    assert found.share == 60 / 160


@pytest.mark.parametrize("seed", range(20))
def test_one_hump_is_not_two(seed: int) -> None:
    """Neither a normal nor a uniform distribution is two humps, whatever the draw."""
    rng = np.random.default_rng(seed)
    assert not cut_in_two(rng.normal(0, 1, 256).tolist()).two_humps
    assert not cut_in_two(rng.uniform(0, 1, 256).tolist()).two_humps


def test_a_few_outliers_are_no_hump() -> None:
    """The smaller side of two humps holds a tenth at least."""
    assert not cut_in_two([0.0] * 97 + [50.0] * 3).two_humps
