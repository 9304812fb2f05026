"""What the hosts of whole recordings did, where that is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tailwave.recordings.readers import read
from tailwave.recordings.timeline.hostwork import Activity, host_work
from tailwave.recordings.timeline.lanes import build_lanes
from tailwave.recordings.timeline.steps import find_steps
from tailwave.recordings.timeline.work_names import WorkNames
from tests.places import DATA, ROOT, TRACES

CASES = DATA / "cases"
KEPT = ROOT / "benchmarks/results/recordings"
PUBLIC = ROOT.parent / "shared/data/public"


def spent(path: Path) -> dict[Activity, float]:
    """Give the time (ms a step) that the first lane of a recording spends on each activity."""
    timeline = read(path)[0]
    steps = find_steps(timeline)
    work = host_work(timeline, build_lanes(timeline), steps)[0]
    low, high = (
        np.clip(at, steps.host_start[0], steps.host_end[-1]) for at in (work.start, work.end)
    )
    length = (high - low) / 1e6 / len(steps)
    return {kind: float(length[work.activity == kind].sum()) for kind in Activity}


def names(path: Path, kind: Activity) -> dict[str, float]:
    """Give the names of one activity with their time in the whole recording (ms)."""
    timeline = read(path)[0]
    lane = build_lanes(timeline)[0]
    [work] = host_work(timeline, [lane], find_steps(timeline))
    mine = np.flatnonzero(work.activity == kind)
    total: dict[str, float] = {}
    length = (work.end - work.start)[mine] / 1e6
    for name, took in zip(WorkNames(timeline).of(lane, work, mine), length.tolist(), strict=True):
        total[name] = total.get(name, 0.0) + took
    return total


@pytest.mark.parametrize("case", ["prefix10", "prefix60"])
def test_preprocessing_is_starvation_whatever_follows_it(case: str) -> None:
    """Five times 100 ms on the CPU, then a small copy, at once or 60 us into its operator."""
    found = spent(CASES / f"kineto/starved_then_small_copy_{case}.json.gz")
    assert found[Activity.STARVED] == pytest.approx(500.5, abs=0.2)


@pytest.mark.parametrize(
    ("case", "stalls"), [("loader_stalls_7_of_15", 7), ("sync_debt_then_one_stall", 1)]
)
def test_a_loader_that_stalls_in_some_steps_is_starvation(case: str, stalls: int) -> None:
    """Each stall takes 60 ms, however long the host waits for the GPU elsewhere."""
    path = CASES / f"kineto/{case}.json.gz"
    assert spent(path)[Activity.STARVED] * 15 == pytest.approx(60 * stalls, abs=2)
    assert names(path, Activity.STARVED)["DataLoader.__next__"] == pytest.approx(60 * stalls, abs=2)


@pytest.mark.parametrize(
    ("case", "call", "took"),
    [
        ("kineto/cuda_context_creation.json.gz", "cudaDeviceGetStreamPriorityRange", 3000),
        ("kineto/cold_start_context.json.gz", "cudaFree", 5000),
        ("nsys/context_creation.sqlite", "cudaMalloc", 299.6),
        ("nsys/context_creation_cudafree0.sqlite", "cudaFree", 118.6),
        ("nsys/context_creation_cudafree0.sqlite", "cudaMemsetAsync", 8.7),
        ("nsys/cpp_startup_called_gil.sqlite", "cudaLaunchKernel", 24.7),
        ("nsys/cpp_startup_called_gil.sqlite", "a pause after cudaGetDeviceProperties_v2", 374.7),
        ("nsys/managed_prefetch.sqlite", "cudaMallocManaged", 269.7),
    ],
)
def test_start_up_is_found_in_whatever_call_it_happens(case: str, call: str, took: float) -> None:
    """The first call that needs a context makes it, and a first launch loads the kernel."""
    assert names(CASES / case, Activity.STARTUP)[call] == pytest.approx(took, abs=0.05 * took)
    assert spent(CASES / case)[Activity.STRETCHED] == 0


def test_host_work_of_a_plain_program_is_its_own() -> None:
    """A C++ program that computes on its host has no interpreter lock to contend for."""
    found = names(CASES / "nsys/cpp_startup_called_gil.sqlite", Activity.STARVED)
    assert found["a pause after cudaHostAlloc"] == pytest.approx(337, abs=1)


def test_initialising_on_the_host_is_starvation() -> None:
    """2.1 s of the host before the kernel, 4.9 s after it; the prefetches are copies."""
    path = CASES / "nsys/managed_prefetch.sqlite"
    assert sum(names(path, Activity.STARVED).values()) == pytest.approx(2114 + 4934, abs=5)
    assert names(path, Activity.COPY)["cudaMemPrefetchAsync"] == pytest.approx(534.5, abs=1)


def test_the_programs_own_range_names_what_the_host_does() -> None:
    """The reading of each step is in a range that numbers it."""
    found = names(CASES / "nsys/nvtx_io_range.sqlite", Activity.STARVED)
    assert found["IO #"] / 43 == pytest.approx(14.6, abs=0.6)
    assert found["IO #"] > 0.98 * sum(found.values())


@pytest.mark.parametrize(
    ("path", "kind", "took"),
    [
        (TRACES / "input.starved_4ms.json.gz", Activity.STARVED, (4.0, 4.4)),
        (TRACES / "h2d.pageable_serial.json.gz", Activity.COPY, (33, 35)),
        (TRACES / "syncs.item_each_layer.json.gz", Activity.SYNC, (0.4, 0.8)),
        (TRACES / "tenant.with_hog.json.gz", Activity.SYNC, (2.0, 2.3)),
        (KEPT / "loader.collate.json.gz", Activity.STARVED, (28, 31)),
        (KEPT / "preprocess.operators.json.gz", Activity.STARVED, (9, 11)),
        (KEPT / "starved.busy_10ms.json.gz", Activity.STARVED, (10, 11)),
        (KEPT / "contention.interpreter_always.json.gz", Activity.STRETCHED, (450, 535)),
        (KEPT / "contention.interpreter_often.json.gz", Activity.STRETCHED, (0.9, 1.2)),
        (KEPT / "contention.shared_core.json.gz", Activity.STRETCHED, (14, 18)),
        (CASES / "real/processor.on_cpu.json.gz", Activity.STARVED, (5.5, 7)),
        (CASES / "real/loader.inline.json.gz", Activity.STARVED, (17, 18.5)),
        (CASES / "real/mel.on_cpu.json.gz", Activity.STARVED, (18, 21)),
        (CASES / "real/sampler.item_sigmas.json.gz", Activity.SYNC, (0.5, 1.0)),
    ],
)
def test_a_planted_cause_is_what_the_host_did(
    path: Path, kind: Activity, took: tuple[float, float]
) -> None:
    """The time of the planted cause is found (ms a step), and little of any other."""
    found = spent(path)
    assert took[0] < found[kind] < took[1]
    others = sum(ms for other, ms in found.items() if other not in (kind, Activity.ISSUE))
    assert others < 0.1 * found[kind] + 0.1


@pytest.mark.parametrize(
    "name",
    ["decode_small.eager", "diffusion_c64.eager", "gemm.big", "input.fed", "train_b128.eager"],
)
def test_a_healthy_host_issues(name: str) -> None:
    """Where nothing is planted the host issues, but for a hundredth of its time."""
    found = spent(TRACES / f"{name}.json.gz")
    assert found[Activity.ISSUE] > 0.98 * sum(found.values())


@pytest.mark.skipif(not PUBLIC.exists(), reason="the public recordings are not at hand")
@pytest.mark.parametrize(
    ("name", "starved"),
    [("tl_h100_owlv2", 610), ("tl_mi300_timesformer", 269), ("timesformer_h100", 215)],
)
def test_preprocessing_of_public_recordings(name: str, starved: float) -> None:
    """Image processors on the CPU (ms), of which the operators that wait swallow nothing."""
    assert spent(PUBLIC / f"{name}.json.gz")[Activity.STARVED] == pytest.approx(starved, rel=0.04)


@pytest.mark.skipif(not PUBLIC.exists(), reason="the public recordings are not at hand")
def test_a_program_that_starts_up_waits_for_nothing() -> None:
    """40 of 43 s: the context, libraries, kernels, and the first memory of the pool."""
    path = PUBLIC / "hta_alexnet.json.gz"
    started = names(path, Activity.STARTUP)
    assert started["cudaDeviceGetStreamPriorityRange"] == pytest.approx(29_927, abs=1)
    assert sum(names(path, Activity.SYNC).values()) < 200
