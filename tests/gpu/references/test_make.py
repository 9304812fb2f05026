"""A reference is made of several runs of one model."""

from __future__ import annotations

import msgspec
import pytest

from tailwave.errors import UsageError
from tailwave.gpu.references.make import make_reference
from tailwave.model import DeviceFacts, Session, Status
from tests.measured import H200, SIMULATED, figure, session, without


def run(cycles: float, started: str = "2026-11-29T15:00:00+00:00", **fields: object) -> Session:
    """One run that measured a headline figure and another."""
    return session(
        figure("issue.barrier", cycles, "clk", spread=0.1),
        figure("launch.per_argument", 1.0, "ns", headline=False),
        started=started,
        **fields,
    )


def test_a_reference_holds_each_runs_median_and_the_span_of_intervals() -> None:
    """Headline figures only; values in the order of the sessions."""
    made = make_reference([run(8.0), run(10.0), run(9.0)])
    (known,) = made.figures
    assert (known.name, known.unit, known.values) == ("issue.barrier", "clk", (8.0, 10.0, 9.0))
    assert (known.low, known.high) == pytest.approx((7.2, 11.0))
    assert (made.device, made.sm_count, made.runs, made.drivers) == (
        "NVIDIA H200",
        132,
        3,
        ("580.159",),
    )


def test_the_speed_of_the_host_is_kept() -> None:
    """An empty loop is no headline, but tells whether two hosts can be compared."""
    loop = figure("launch.host_loop", 20.0, "ns", headline=False)
    made = make_reference([session(loop)] * 3)
    assert [known.name for known in made.figures] == ["launch.host_loop"]


def on_host(loop_ns: float, sync_us: float) -> Session:
    """A run on a host whose empty loop takes so long a step."""
    return session(
        figure("launch.host_loop", loop_ns, "ns", headline=False),
        figure("launch.sync", sync_us, "us"),
        figure("issue.barrier", 77.0, "clk"),
    )


def test_figures_of_the_host_come_from_hosts_of_one_speed() -> None:
    """A run on a slow core gives the GPU's own figures, and none that the host has a part in."""
    made = make_reference(
        [on_host(12.9, 8.0), on_host(25.9, 16.0), on_host(13.0, 8.1), on_host(12.8, 8.2)]
    )
    assert {known.name: known.values for known in made.figures} == {
        "launch.host_loop": (12.9, 13.0, 12.8),
        "launch.sync": (8.0, 8.1, 8.2),
        "issue.barrier": (77.0,) * 4,
    }


def test_too_few_runs_on_a_host_of_one_speed() -> None:
    """Then what the host has its part in is left out."""
    made = make_reference([on_host(12.9, 8.0), on_host(25.9, 16.0), on_host(13.0, 8.1)])
    assert [known.name for known in made.figures] == ["issue.barrier"]


def test_a_figure_that_a_run_lacks_is_left_out() -> None:
    """Each figure rests on all the runs."""
    failed = session(without("issue.barrier", Status.FAILED, "It went wrong."))
    assert make_reference([run(8.0), run(9.0), failed]).figures == ()


def test_a_reference_needs_three_runs() -> None:
    """Two runs do not know their spread."""
    with pytest.raises(UsageError, match="at least 3 runs to know their spread; these are 2"):
        make_reference([run(8.0), run(9.0)])


@pytest.mark.parametrize(
    "other",
    [SIMULATED, msgspec.structs.replace(H200, sm_count=60), DeviceFacts("NVIDIA L40", "cuda")],
)
def test_a_reference_is_of_one_model(other: DeviceFacts) -> None:
    """Other models, parts of a GPU and simulations are refused."""
    with pytest.raises(UsageError, match="a reference is of one model; these sessions are of"):
        make_reference([run(8.0), run(9.0), run(9.0, device=other)])


def test_a_run_that_was_cut_short_is_no_part_of_a_reference() -> None:
    """What a GPU measured before it was lost is nothing to compare others with."""
    with pytest.raises(UsageError, match="a run that was cut short"):
        make_reference([run(8.0), run(9.0), run(9.0, cut_short="The GPU is gone.")])


def test_sessions_without_a_device_are_refused() -> None:
    """A check that found no GPU measured nothing."""
    with pytest.raises(UsageError, match="needs sessions that measured a device"):
        make_reference([run(8.0), run(9.0), run(9.0, device=None)])
