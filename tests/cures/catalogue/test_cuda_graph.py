"""The step as a CUDA graph: only where the GPU idles."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tailwave.cures.catalogue.base import Setting
from tailwave.cures.catalogue.cuda_graph import CudaGraphCure
from tailwave.errors import UsageError
from tailwave.model import StepTime
from tests.cures.catalogue.cases import (
    NO_PYTHON,
    PLAIN,
    UNENTERED,
    acted,
    diagnosis,
    only_task,
    unseen,
)

CURE = CudaGraphCure()


def test_it_asks_the_hook() -> None:
    """It takes no parameter."""
    assert CURE.parameters(PLAIN) == ("",)
    assert only_task(CURE, "") == {}
    with pytest.raises(UsageError, match="takes no parameter"):
        CURE.treatment("2", PLAIN)


@pytest.mark.parametrize(("busy_us", "refused"), [(900.0, False), (901.0, True)])
def test_a_gpu_that_is_busy_for_nine_tenths_is_refused(busy_us: float, *, refused: bool) -> None:
    """There are no gaps for it to fill; exactly nine tenths may be tried."""
    setting = Setting(environment={}, diagnosis=diagnosis(busy_us=busy_us))
    assert (CURE.why_not("", setting) != "") is refused


def test_how_busy_the_gpu_is_counts_without_the_profiler() -> None:
    """Recorded were 2 ms, likely is 1 ms, of which the GPU works 0.95."""
    now = StepTime(1000.0, 800.0, 1200.0, "estimated", recorded_us=2000.0)
    found = replace(diagnosis(busy_us=950.0, step_us=2000.0), now=now)
    assert CURE.why_not("", Setting(environment={}, diagnosis=found)) == (
        "The GPU is busy for 95% of the step: there are no gaps for it to fill."
    )


def test_it_needs_python() -> None:
    """The hook enters nothing else."""
    assert CURE.why_not("", NO_PYTHON) == UNENTERED


def test_it_is_seen_by_replays() -> None:
    """Over all processes; a graph that was only recorded is not at work."""
    reports = [acted("cuda-graph", graphs=1, replays=40), acted("cuda-graph", graphs=1, replays=2)]
    assert CURE.mechanism("", reports) == (True, "2 CUDA graphs were replayed 42 times.")
    assert CURE.mechanism("", [acted("cuda-graph", graphs=1, replays=1200)]) == (
        True,
        "1 CUDA graph was replayed 1,200 times.",
    )
    assert CURE.mechanism("", [acted("cuda-graph", graphs=1, replays=0)]) == (
        False,
        "No graph was replayed.",
    )
    unseen(CURE)


def test_it_is_kept_by_the_library() -> None:
    """One line and its import."""
    lines = ("import tailwave", "step = tailwave.graph(step, *example_args)")
    assert CURE.lines("") == lines
