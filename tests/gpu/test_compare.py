"""What differs between two sessions: beyond the intervals, worst first."""

from __future__ import annotations

import pytest

from tailwave.gpu.compare import compare
from tailwave.model import Comparison, Status
from tests.measured import figure, session, without


def changed(
    before: float, after: float, name: str = "launch.sync", spread: float = 0.0
) -> Comparison:
    """Compare one figure."""
    return compare(
        session(figure(name, before, "us", spread=spread)),
        session(figure(name, after, "us", spread=spread)),
    )


def test_intervals_that_meet_are_no_difference() -> None:
    """Figures whose intervals overlap are alike."""
    found = changed(8.0, 8.8, spread=0.05)
    assert (found.differences, found.small, found.alike) == ((), (), 1)


def test_intervals_apart_are_a_difference() -> None:
    """The change is relative to the first; a longer time is worse."""
    (difference,) = changed(8.0, 10.0, spread=0.05).differences
    assert difference.change == pytest.approx(0.25)
    assert difference.worse is True
    assert difference.what == "a launch and waiting for it"
    assert difference.decides == (
        "what a step costs whose result the host reads, such as a token that is sampled"
    )


def test_what_two_checks_differ_by_is_small() -> None:
    """Below 3% a difference is kept apart, however narrow the intervals."""
    found = changed(10.0, 10.2)
    assert (len(found.differences), len(found.small)) == (0, 1)


@pytest.mark.parametrize(
    ("name", "after", "worse"),
    [
        ("launch.sync", 9.0, False),
        ("l2.bandwidth", 9.0, True),
        ("l2.bandwidth", 11.0, False),
        ("topology.gpcs", 7.0, None),
    ],
)
def test_which_side_is_worse(name: str, after: float, worse: bool | None) -> None:  # noqa: FBT001 - one of a table
    """Times are better shorter, bandwidths greater; some figures have no better side."""
    (difference,) = changed(10.0, after, name).differences
    assert difference.worse is worse


def test_the_worst_comes_first() -> None:
    """What got worse by the largest factor first, then what only differs, what got better last."""
    names = ("launch.sync", "l2.bandwidth", "topology.gpcs", "copy.small", "launch.enqueue")
    before = session(*(figure(name, 10.0) for name in names))
    values = (12.0, 5.0, 7.0, 2.0, 8.0)
    after = session(*(figure(n, v) for n, v in zip(names, values, strict=True)))
    found = [difference.before.name for difference in compare(before, after).differences]
    assert found == ["l2.bandwidth", "launch.sync", "topology.gpcs", "copy.small", "launch.enqueue"]


def test_parameters_keep_figures_apart() -> None:
    """A figure is compared with the one taken at the same parameters."""
    before = session(figure("l2.poll", 1.0, pollers=1), figure("l2.poll", 5.0, pollers=131))
    after = session(figure("l2.poll", 9.0, pollers=131), figure("l2.poll", 1.0, pollers=1))
    (difference,) = compare(before, after).differences
    assert difference.what == "a write until all SMs have seen it (pollers 131)"


def test_from_nought_there_is_no_ratio() -> None:
    """A figure that was 0 has changed, by no factor."""
    (difference,) = changed(0.0, 1.0).differences
    assert difference.change is None


def test_what_only_one_has_is_said_with_the_reason() -> None:
    """A figure that one session lacks is no difference, and is not passed over."""
    denied = without("launch.sync", Status.DENIED, "Not in this container.")
    before = session(figure("launch.sync", 8.0), figure("copy.small", 6.0))
    after = session(denied, figure("l2.bandwidth", 9.0))
    assert compare(before, after).missing == (
        "the bandwidth of L2: only in the second. It was not measured.",
        "a launch and waiting for it: only in the first. Not in this container.",
        "a copy of a few bytes: only in the first. It was not measured.",
    )


def test_other_figures_are_left_out() -> None:
    """Only headline figures are compared."""
    aside = figure("launch.per_argument", 1.0, headline=False)
    assert compare(session(aside), session()).missing == ()
