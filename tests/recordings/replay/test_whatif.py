"""The what-ifs as a family: their names, each alone, together, and the best combination."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import msgspec
import pytest

from tailwave.model import Prediction, StepTime
from tailwave.recordings.replay.change import Change, Changed
from tailwave.recordings.replay.forecast import Forecast, Outlook
from tailwave.recordings.replay.program import Program
from tailwave.recordings.replay.whatif import (
    WHATIFS,
    WhatIf,
    answer,
    best_combination,
    each_alone,
    host_speed_is,
    in_order,
    sm_count_is,
)
from tailwave.recordings.timeline.case import Case
from tests.builders import Trace, kernel, steps
from tests.recordings.replay.programs import forecast_of

BY_NAME = {whatif.name: whatif for whatif in WHATIFS}


def _forecast(body: Callable[[Trace], None]) -> Forecast:
    return forecast_of(steps(4, 400, body, Trace()))


def _launches_with_waits(trace: Trace) -> None:
    """Fetch a value after each of eight small kernels."""
    for start in range(0, 400, 50):
        trace.launch(start, start + 4, kernel("gemm", start + 9, start + 14))
        trace.op("aten::item", start + 5, start + 30)
        trace.call("cudaStreamSynchronize", start + 6, start + 20)


def _gpu_bound(trace: Trace) -> None:
    """Fill the GPU with one kernel that fills every SM: nothing is to be gained."""
    trace.launch(0, 4, kernel("gemm", 5, 404, grid=1_320, shared=150_000))


WAITING = _forecast(_launches_with_waits)
BUSY = _forecast(_gpu_bound)


def test_names_are_unique() -> None:
    """Each what-if is an option of the command: its name is its own."""
    assert len(BY_NAME) == len(WHATIFS)


def test_the_graph_comes_last() -> None:
    """Whatever the order asked for, waits go before kernels change, and the graph comes last."""
    asked = [BY_NAME["cuda-graph"], sm_count_is(64), BY_NAME["no-wave-tail"], BY_NAME["no-sync"]]
    assert [whatif.name for whatif in in_order(asked)] == [
        "sm-count=64",
        "no-sync",
        "no-wave-tail",
        "cuda-graph",
    ]


def test_parametrised_whatifs_carry_their_value() -> None:
    """An SM count and a host's speed are in the name and in the question."""
    assert (sm_count_is(64).name, sm_count_is(64).question) == ("sm-count=64", "the GPU has 64 SMs")
    speed = host_speed_is(1.5)
    assert (speed.name, speed.question) == (
        "host-speed=1.5",
        "the host issues 1.5 times as fast",
    )


def test_an_answer_says_what_was_asked_and_what_it_brings() -> None:
    """Names and questions in the order applied, the step before and after."""
    found = answer(WAITING, [BY_NAME["cuda-graph"], BY_NAME["no-sync"]])
    assert found.names == ("no-sync", "cuda-graph")
    assert found.question == "the host never waits for the GPU; each step is one CUDA graph"
    assert found.step_us_now == WAITING.now.us
    both = (BY_NAME["no-sync"].change, BY_NAME["cuda-graph"].change)
    assert found.step_us_after == WAITING.after(*both).step_us
    assert found.recoverable_us == found.step_us_now - found.step_us_after


def test_an_answer_keeps_what_the_change_assumed() -> None:
    """What a change has to say of its assumptions is part of the answer."""

    def change(case: Case, program: Program) -> Changed:
        del case
        return Changed(program, ("It assumes much.",))

    assert answer(WAITING, [WhatIf("x", "what if", change)]).notes == ("It assumes much.",)


def test_each_alone_is_ranked_by_what_it_brings() -> None:
    """Every what-if is answered once, the most helpful first."""
    found = each_alone(WAITING)
    assert sorted(item.names[0] for item in found) == sorted(BY_NAME)
    gains = [item.recoverable_us for item in found]
    assert gains == sorted(gains, reverse=True)


def test_the_best_combination_finds_pairs() -> None:
    """A graph that waits cut helps little, as do waits gone from a slow host; both help much."""
    alone = {item.names[0]: item.step_us_after for item in each_alone(WAITING)}
    best = best_combination(WAITING, each_alone(WAITING))
    assert best is not None
    assert best.names == ("no-sync", "cuda-graph")
    # Eight kernels of 5 us follow each other by 140 ns and the most of a share, 320 ns.
    assert best.step_us_after == pytest.approx(8 * (5 + 0.46), rel=0.05)
    assert best.step_us_after < 0.5 * min(alone["no-sync"], alone["cuda-graph"])


def test_what_makes_a_step_longer_is_passed_over() -> None:
    """The best of the rest is still found."""
    alone = [
        msgspec.structs.replace(item, step_us_after=2 * item.step_us_now)
        if item.names == ("grid",)
        else item
        for item in each_alone(WAITING)
    ]
    best = best_combination(WAITING, alone)
    assert best is not None
    assert best.names == ("no-sync", "cuda-graph")


def test_a_combination_holds_only_what_it_needs() -> None:
    """Leaving any of a combination out costs at least a percent."""
    best = best_combination(WAITING, each_alone(WAITING))
    assert best is not None
    for name in best.names:
        others = [BY_NAME[other] for other in best.names if other != name]
        assert answer(WAITING, others).step_us_after > 1.01 * best.step_us_after


def test_nothing_to_gain_is_no_combination() -> None:
    """Where no change brings a percent, no combination is named."""
    assert best_combination(BUSY, each_alone(BUSY)) is None


def test_no_combination_counts_on_a_bound() -> None:
    """Small grids that could at best be spread or merged are no part of a combination."""

    def body(trace: Trace) -> None:
        trace.launch(0, 4, kernel("branch", 9, 100, grid=10))
        trace.launch(10, 14, kernel("branch", 101, 200, grid=10))
        trace.launch(20, 24, kernel("branch", 201, 390, grid=10))
        trace.call("cudaStreamSynchronize", 30, 392)

    small = _forecast(body)
    alone = {item.names[0]: item for item in each_alone(small)}
    assert alone["no-small-grid"].recoverable_us > 0.5 * small.now.us
    assert alone["merge-small-grids"].recoverable_us > 0.2 * small.now.us
    best = best_combination(small, each_alone(small))
    assert best is None or {"no-small-grid", "merge-small-grids"}.isdisjoint(best.names)


class Tabled:
    """A forecast whose answers are written down: the step (us) by the names that are changed."""

    now = StepTime(100.0, 100.0, 100.0, "measured", 100.0)

    def __init__(self, table: dict[tuple[str, ...], float]) -> None:
        """Any other change leaves the step as it is."""
        self.answers: dict[tuple[str, ...], Prediction] = {}
        self._table = table

    def after(self, *changes: Change) -> Outlook:
        """Look the changes up."""
        names = tuple(whatif.name for whatif in WHATIFS if whatif.change in changes)
        return Outlook(self._table.get(names, self.now.us), ())


@pytest.mark.parametrize(
    ("sync", "both", "names"),
    [
        (50.0, 50.0, ("no-sync",)),
        (50.4, 50.0, ("no-sync",)),  # the other half of the pair brings less than 1% of 50
        (50.6, 50.0, ("no-sync", "no-input-stall")),
        (99.2, 99.2, None),  # all that there is to gain is less than 1% of 100
        (98.9, 98.9, ("no-sync",)),
    ],
)
def test_what_brings_less_than_a_percent_is_left_out(
    sync: float, both: float, names: tuple[str, ...] | None
) -> None:
    """Of a pair that was the best, too; and where nothing brings more, there is no combination."""
    table = {("no-sync",): sync, ("no-input-stall",): 99.8, ("no-sync", "no-input-stall"): both}
    tabled = cast("Forecast", Tabled(table))
    best = best_combination(tabled, each_alone(tabled))
    assert (best.names if best else None) == names


@pytest.mark.parametrize("whatif", WHATIFS, ids=lambda whatif: whatif.name)
def test_what_finds_nothing_to_change_changes_nothing(whatif: WhatIf) -> None:
    """On a GPU that is busy all the time with one full kernel, no what-if brings anything."""
    found = answer(BUSY, [whatif])
    assert found.step_us_after == pytest.approx(BUSY.now.us, rel=0.02)
