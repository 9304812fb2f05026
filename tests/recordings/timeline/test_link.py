"""How fast the link between host and GPU is: seen in the recording, else by the chip."""

from __future__ import annotations

from tailwave.model import DeviceInfo
from tailwave.recordings.timeline.link import link_speed
from tests.builders import H200, PAGEABLE_HTOD, PINNED_DTOH, PINNED_HTOD, Trace, Work, copy

MB = 1 << 20


def speed(*work: Work, device: DeviceInfo = H200) -> float:
    """Give the link's speed in bytes per microsecond."""
    return link_speed(Trace().launch(0, 4, *work).build(), device)


def test_the_fastest_large_pinned_copy_shows_the_speed() -> None:
    """Two pinned copies, one of them slowed down by something: the link is at least the faster."""
    slow, fast = copy(PINNED_HTOD, 5, 105, size=2 * MB), copy(PINNED_DTOH, 105, 155, size=2 * MB)
    assert speed(slow, fast) == 2 * MB / 50


def test_small_and_pageable_copies_say_nothing_of_it() -> None:
    """Small copies are all latency, pageable ones run at the driver's pace."""
    small = copy(PINNED_HTOD, 5, 6, size=MB // 2)
    assert speed(small, copy(PAGEABLE_HTOD, 6, 7, size=8 * MB)) == 55_000


def test_copies_of_no_length_or_size_say_nothing_of_it() -> None:
    """What the recorder rounded to nothing or did not write is not divided by."""
    assert speed(copy(PINNED_HTOD, 5, 5, size=8 * MB), copy(PINNED_HTOD, 5, 9)) == 55_000


def test_another_gpus_link_is_its_own() -> None:
    """A copy to another GPU shows the speed of that one's link."""
    assert speed(copy(PINNED_HTOD, 5, 105, size=2 * MB, device=1)) == 55_000


def test_an_unknown_chip_has_the_slowest_link() -> None:
    """Where the chip is unknown, the link is taken for the oldest one, so as not to promise."""
    assert speed(device=DeviceInfo(index=0)) == 13_000
