"""The copy link: pinned memory, both ways at once, a link at its full width."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tailwave.gpu.verdicts import copy
from tailwave.gpu.verdicts.measurements import Measurements
from tailwave.model import Health
from tests.gpu.verdicts.links import healths, words
from tests.measured import figure


@pytest.mark.parametrize(("way", "words"), [("h2d", "to the GPU"), ("d2h", "from the GPU")])
@pytest.mark.parametrize(("pageable", "expected"), [(55.0, Health.OK), (55.1, Health.WARNING)])
def test_pinned_is_no_slower(way: str, words: str, pageable: float, expected: Health) -> None:
    """Pinned memory is copied at least as fast as pageable memory."""
    found = healths(
        copy,
        figure(f"copy.{way}_pinned", 55.0, "GB/s"),
        figure(f"copy.{way}_pageable", pageable, "GB/s"),
    )
    assert found == {f"pinned against pageable memory, {words}": expected}


@pytest.mark.parametrize(("both", "expected"), [(55.0, Health.OK), (54.0, Health.WARNING)])
def test_both_ways_carry_no_less_than_one(both: float, expected: Health) -> None:
    """Copies both ways at once do not slow each other below one way."""
    found = healths(
        copy,
        figure("copy.h2d_pinned", 55.0, "GB/s"),
        figure("copy.both_pinned", both, "GB/s"),
    )
    assert found == {"both ways at once against to the GPU alone": expected}


@pytest.mark.parametrize(("lanes", "expected"), [(16, Health.OK), (8, Health.WARNING)])
def test_the_link_is_as_wide_as_its_ends(lanes: int, expected: Health) -> None:
    """Under load the link has all the lanes that both ends have."""
    found = healths(copy, figure("copy.link_width", float(lanes), "lanes", most=16))
    assert list(found.values()) == [expected]


@pytest.mark.parametrize("parameters", [{}, {"most": 0}])
def test_a_link_whose_ends_are_not_known_has_no_bound(parameters: dict[str, float]) -> None:
    """It is as wide as it is; nothing says that it could be wider."""
    width = replace(figure("copy.link_width", 1.0, "lanes"), parameters=parameters)
    (link,) = [c for c in copy.criteria(Measurements([width])) if c.value is not None]
    assert (link.health, link.least) == (Health.OK, None)


def test_what_it_means() -> None:
    """The meaning is how long a GiB and a few bytes take."""
    assert words(
        copy,
        figure("copy.h2d_pinned", 53.6870912, "GB/s"),
        figure("copy.d2h_pinned", 53.0, "GB/s"),
        figure("copy.h2d_pageable", 10.0, "GB/s"),
        figure("copy.small", 6.5, "us"),
    ) == (
        "to the GPU 53.7 GB/s, from it 53 GB/s, pageable 10 GB/s",
        (
            "A GiB to the GPU takes 20 ms from pinned memory and 107 ms from pageable. "
            "A copy of a few bytes takes 6.50 us."
        ),
    )
