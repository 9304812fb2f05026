"""Every headline figure has words, and no words are left over."""

from __future__ import annotations

from tailwave.gpu.headlines import HEADLINES, headline, named
from tailwave.gpu.probes import PROBES
from tailwave.gpu.probes.parts import Better
from tailwave.gpu.verdicts import LINKS
from tailwave.session import load
from tests.places import DATA

SESSION = DATA / "sessions" / "v1.json"


def test_every_headline_figure_has_words() -> None:
    """What a whole check measures as a headline is known by name."""
    measured = {m.name for m in load(SESSION).measurements if m.headline}
    assert measured - set(HEADLINES) == set()


def test_words_are_of_figures_that_a_probe_takes() -> None:
    """A figure that was renamed would leave its words behind."""
    taken = {name for probe in PROBES for part in probe.parts for name in part.names}
    assert set(HEADLINES) - taken == set()


def test_every_probe_has_its_link() -> None:
    """What a probe measures is judged by just one link."""
    judged = sorted(probe for link in LINKS for probe in link.PROBES)
    told = "name each probe in the PROBES of one link in src/tailwave/gpu/verdicts/"
    assert judged == sorted(probe.name for probe in PROBES), told


def test_a_figure_of_a_newer_version_keeps_its_name() -> None:
    """An unknown figure is named as it is, and neither side of it is better."""
    assert headline("l3.bandwidth").phrase == "l3.bandwidth"
    assert headline("l3.bandwidth").better == Better.NEITHER


def test_parameters_tell_figures_apart() -> None:
    """A figure's name in words ends with what it was taken at."""
    assert named("l2.poll", {"pollers": 131}) == "a write until all SMs have seen it (pollers 131)"
    assert named("launch.sync", {}) == "a launch and waiting for it"
