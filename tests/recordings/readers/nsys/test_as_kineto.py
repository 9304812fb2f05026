"""The project's recordings, as nsys would have recorded them: the same verdict.

Under ``emit_nvtx`` nsys records the operators that Kineto does; without it, none.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tailwave.model import Diagnosis, Timeline
from tailwave.recordings.causes.diagnose import diagnose
from tailwave.recordings.readers import read
from tests.places import ROOT
from tests.recordings.readers.nsys.converted import convert

TRACES = sorted((ROOT / "tests/data/traces").glob("*.json.gz"))
RECORDINGS = ROOT / "benchmarks/results/recordings"
# Besides, those in which a host waits, starves or is stretched in other ways.
OTHERS = [
    RECORDINGS / f"{name}.json.gz"
    for name in (
        "contention.interpreter_often",
        "d2h_16mb.pageable",
        "loader.workers_0",
        "small_grid_33.split_depth",
        "starved.sleep_3ms",
        "sync_logits.cpu_graph",
        "sync_mask.nonzero",
        "sync_norm.item_every",
    )
]
ALL = {path.name.removesuffix(".json.gz"): path for path in (*TRACES, *OTHERS)}
NEAR = 0.01
# Where operators tell the host's time apart, shares differ by more without them: recording -> why.
ITEM = "how much of the time before a fetch was for its sake, only the operators tell"
PIECES = "what is long for its kind is told by operator, and without operators by call and pause"
WITHOUT_OPERATORS = {
    "contention.interpreter_often": (0.61, "what a pause is of a piece that operators name"),
    "d2h_16mb.pageable": (0.08, ITEM),
    "h2d.pageable_serial": (0.03, ITEM),
    "sync_logits.cpu_graph": (0.11, ITEM),
    "input.starved_4ms": (0.02, "operators that prepare a batch are taken for issuing"),
    "starved.sleep_3ms": (0.02, "operators that prepare a batch are taken for issuing"),
    "sync_mask.nonzero": (0.03, ITEM),
    "sync_norm.item_every": (0.05, ITEM),
    "syncs.item_each_layer": (0.18, ITEM),
    "train_b8.eager": (0.03, PIECES),
}

# Without operators another finding comes first: work is told from waits and pauses by them alone.
TOLD_BY_OPERATORS = {"contention.interpreter_often", "sync_logits.cpu_graph"}


def _diagnosed(name: str, path: Path, *, operators: bool) -> tuple[Diagnosis, Diagnosis]:
    [kineto] = read(ALL[name])
    [nsys] = read(convert(kineto, path / "as_nsys.sqlite", operators=operators))
    assert _same_rows(nsys, kineto)
    # Of both as recorded: the cost of nsys is not known, and so not taken off.
    return diagnose([replace(kineto, kind="nsys")], name), diagnose([nsys], name)


def _same_rows(one: Timeline, other: Timeline) -> bool:
    """Tell whether both have the same work, launched by calls of the same name."""
    alike = len(one.gpu) == len(other.gpu)
    for field in ("name", "launch"):
        alike = alike and _names(one, field) == _names(other, field)
    return alike


def _names(timeline: Timeline, field: str) -> list[str]:
    gpu, host = timeline.gpu, timeline.host
    if field == "name":
        return [timeline.names[code] for code in gpu.name]
    return [timeline.names[host.name[row]] if row >= 0 else "" for row in gpu.launch]


def _shares(diagnosis: Diagnosis) -> dict[str, float]:
    assert diagnosis.steps is not None
    return {share.what: share.us / diagnosis.steps.median_us for share in diagnosis.division}


def _worst(one: Diagnosis, other: Diagnosis) -> float:
    first, second = _shares(one), _shares(other)
    return max(abs(first.get(w, 0) - second.get(w, 0)) for w in first.keys() | second.keys())


def _first(diagnosis: Diagnosis) -> str:
    return diagnosis.findings[0].code if diagnosis.findings else ""


@pytest.mark.parametrize("name", ALL)
def test_with_operators_the_verdict_is_kinetos(tmp_path: Path, name: str) -> None:
    """Steps, shares within 1% of the step, and the first finding."""
    kineto, nsys = _diagnosed(name, tmp_path, operators=True)
    assert nsys.steps is not None
    assert nsys.steps == kineto.steps
    assert nsys.device == kineto.device
    assert _worst(kineto, nsys) <= NEAR
    assert _first(nsys) == _first(kineto)


@pytest.mark.parametrize("name", ALL)
def test_without_operators_the_first_finding_is_kinetos(tmp_path: Path, name: str) -> None:
    """Steps and first finding the same, shares as near as the operators' absence lets them be."""
    kineto, nsys = _diagnosed(name, tmp_path, operators=False)
    assert nsys.steps == kineto.steps
    near, _ = WITHOUT_OPERATORS.get(name, (NEAR, ""))
    assert _worst(kineto, nsys) <= near
    if name not in TOLD_BY_OPERATORS:
        assert _first(nsys) == _first(kineto)
