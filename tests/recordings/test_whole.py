"""Whole diagnoses of every recording at hand, and of any: what they never get wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis.strategies import SearchStrategy

from tailwave.errors import UnreadableInputError
from tailwave.model import Timeline
from tailwave.recordings.readers import read
from tests.places import DATA, ROOT, TRACES
from tests.recordings.machine import programs
from tests.recordings.timeline.recordings import recordings
from tests.recordings.whole import CHECKS, Whole, first_finding_is_the_best_what_if, whole

CASES = (DATA / "cases/kineto", DATA / "cases/nsys", DATA / "onnxruntime", DATA / "jax")
LATER = ROOT / "benchmarks/results/recordings"
SHARED = ROOT.parent / "shared" / "data"
Check = Callable[[Whole], None]
ALWAYS = [check for check in CHECKS if check is not first_finding_is_the_best_what_if]

each_check = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)


def files(*folders: Path) -> list[Path]:
    """List the recordings of some folders."""
    found = [path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir())]
    ends = (".json.gz", ".sqlite", ".json")
    return [path for path in found if path.name.endswith(ends) and "truth" not in path.name]


@cache
def diagnosed(*paths: Path) -> Whole | None:
    """Diagnose a recording once for all checks; None where it is refused."""
    try:
        timelines = read(list(paths))
    except UnreadableInputError:
        return None
    return whole(timelines)


def held(check: Check, *paths: Path) -> None:
    """Hold a recording to a check; one that is refused says nothing wrong."""
    seen = diagnosed(*paths)
    if seen is None:
        pytest.skip("refused")
    check(seen)


@each_check
@pytest.mark.parametrize("path", files(TRACES, *CASES), ids=lambda path: path.name)
def test_recording(path: Path, check: Check) -> None:
    """Each small recording, and each whose cause was planted."""
    held(check, path)


@pytest.mark.slow
@each_check
@pytest.mark.parametrize("path", files(LATER), ids=lambda path: path.name)
def test_later_recording(path: Path, check: Check) -> None:
    """Each recording that no constant was looked at on."""
    held(check, path)


@pytest.mark.slow
@each_check
@pytest.mark.parametrize(
    "path", files(SHARED / "real", SHARED / "ranks", SHARED / "public"), ids=lambda path: path.name
)
def test_shared_recording(path: Path, check: Check) -> None:
    """Each recording that is at hand and not shipped."""
    held(check, path)


@pytest.mark.slow
@each_check
@pytest.mark.parametrize(
    "run", sorted({path.name.split(".rank")[0] for path in files(SHARED / "ranks")})
)
def test_ranks(run: str, check: Check) -> None:
    """Each run of several ranks."""
    held(check, *(SHARED / "ranks").glob(f"{run}.rank*.json.gz"))


@each_check
def test_ranks_of_a_case(check: Check) -> None:
    """Two ranks, of which one waits for the other."""
    held(check, *(DATA / f"cases/kineto/straggler_rank{rank}.json.gz" for rank in (0, 1)))


@given(programs())
def test_any_program(timeline: Timeline) -> None:
    """Recordings of programs as they can be: kernels, copies, waits and work of the host."""
    seen = whole([timeline])
    for check in ALWAYS:
        check(seen)


@given(recordings())
def test_any_recording(timeline: Timeline) -> None:
    """Recordings as odd as a reader could hand them on."""
    seen = whole([timeline])
    if seen.diagnosis.steps is not None:
        for check in ALWAYS:
            check(seen)


@pytest.mark.xfail(
    strict=False,
    reason="no-sync brings 9% of a step of one launch and one wait, and host-sync is not found; "
    "cuda-graph brings all of a step whose work no call in it launched, and launch-bound is not",
)
@pytest.mark.parametrize("drawn", [programs(), recordings()], ids=["program", "recording"])
def test_the_first_finding_of_any(drawn: SearchStrategy[Timeline]) -> None:
    """The best what-if is the first finding in these, too."""

    # Without making a failure small, which takes a minute.
    @settings(phases=[Phase.generate])
    @given(drawn)
    def hold(timeline: Timeline) -> None:
        seen = whole([timeline])
        if seen.diagnosis.steps is not None:
            first_finding_is_the_best_what_if(seen)

    hold()
