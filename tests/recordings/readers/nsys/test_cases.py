"""Exports of others' programs, with what is right of each (from public files, cut down)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tailwave import diagnose, whatif
from tailwave.cli import run
from tailwave.errors import UNREADABLE
from tailwave.model import Diagnosis, HostKind, Timeline
from tailwave.recordings.readers import read
from tailwave.recordings.timeline.prepare import prepare
from tests.places import DATA

CASES = DATA / "cases" / "nsys"
MANAGED = ("managed_small", "managed_4gpus_one_thread", "managed_prefetch")


def path(name: str) -> Path:
    """Return where a case lies."""
    return CASES / f"{name}.sqlite"


def one(name: str) -> Timeline:
    """Read the one process of a case."""
    [timeline] = read(path(name))
    return timeline


def share(diagnosis: Diagnosis, what: str) -> float:
    """Return a share of the step (us)."""
    return sum(share.us for share in diagnosis.division if share.what == what)


@pytest.mark.parametrize("name", MANAGED)
def test_migrations_are_sound(name: str) -> None:
    """No call launched them, by design: there is nothing to be doubted or withheld."""
    quality = prepare(one(name)).quality
    assert (quality.notes, quality.host_is_sound, quality.gpu_is_sound) == ((), True, True)
    assert diagnose(path(name)).withheld == ()


@pytest.mark.parametrize(
    ("name", "moved"),
    [
        (
            "managed_small",
            {"Memcpy HtoD (managed)": 8_388_608, "Memcpy DtoH (managed)": 4_194_304},
        ),
        ("managed_4gpus_one_thread", {"Memcpy HtoD (managed)": 8_388_608}),
        (
            "managed_prefetch",
            {
                "Memcpy HtoD (managed, prefetched)": 4_294_967_296,
                "Memcpy DtoH (managed)": 2_147_483_648,
            },
        ),
    ],
)
def test_pages_are_named_by_direction_and_cause(name: str, moved: dict[str, int]) -> None:
    """Bytes agree with SQL, and what was prefetched is told from what was touched."""
    timeline = one(name)
    found: Counter[str] = Counter()
    for code, size in zip(timeline.gpu.name, timeline.gpu.bytes, strict=True):
        if "(managed" in timeline.names[code]:
            found[timeline.names[code]] += int(size)
    assert found == moved


@pytest.mark.parametrize("name", MANAGED[1:])
def test_each_gpu_has_the_drivers_number(name: str) -> None:
    """``cuDevice`` is 3, 0, 1, 2, and 0 is a number like others: GPU 0 is described."""
    timeline = one(name)
    assert [device.index for device in timeline.devices] == [0, 1, 2, 3]
    diagnosis = diagnose(path(name))
    assert diagnosis.device is not None
    assert (diagnosis.device.name, diagnosis.device.sm_count) == ("NVIDIA A100-SXM4-80GB", 108)


def test_one_thread_on_four_gpus_is_a_small_grid() -> None:
    """The kernel of one thread is what the GPU does; its pages take 0.4 of its 109 ms."""
    diagnosis = diagnose(path("managed_4gpus_one_thread"))
    assert "small-grid" in [finding.code for finding in diagnosis.findings]
    assert share(diagnosis, "small-grid") == pytest.approx(109_288 * 107 / 108, rel=0.02)
    assert "page-migration" not in [finding.code for finding in diagnosis.findings]


def test_the_host_reads_pages_back() -> None:
    """The host works for 2.1 s, and reads for 4.9; its 12,288 pages take 0.10 s themselves."""
    diagnosis = diagnose(path("managed_prefetch"))
    by_code = {finding.code: finding for finding in diagnosis.findings}
    assert diagnosis.findings[0].code == "host-starved"
    assert share(diagnosis, "host-starved") > 4_800_000
    assert share(diagnosis, "kernels") == pytest.approx(3_960, rel=0.01)
    assert share(diagnosis, "page-migration") <= 300_000
    pages = by_code["page-migration"]
    assert "12288 times" in pages.claim
    assert pages.recoverable_us == pytest.approx(104_000, rel=0.05)
    evidence = {piece.what: piece.value for piece in pages.evidence}
    assert evidence["prefetched already"] == 4_294_967_296
    assert "launch-bound" not in by_code


@pytest.mark.parametrize("name", MANAGED)
def test_what_a_finding_gains_is_what_its_what_if_gains(name: str) -> None:
    """One change, one figure; and no change is quicker than the link."""
    gains = {one.names[0]: one.recoverable_us for one in whatif(path(name)).what_ifs}
    for finding in diagnose(path(name)).findings:
        if finding.code == "page-migration":
            assert finding.recoverable_us == gains["prefetch-pages"]


def test_an_export_without_gpu_rows_quotes_nsys(capsys: pytest.CaptureFixture[str]) -> None:
    """It launched a kernel and copies, of which nsys kept nothing: what it says, and its advice."""
    diagnosis = diagnose(path("no_kernel_table_nvtx"))
    lost, noted, advice = diagnosis.notes
    assert lost == (
        "The recording holds no GPU activity, though 4 calls issued some: nothing can be said "
        "about the GPU."
    )
    assert noted.startswith(
        "nsys itself noted: 45 CUPTI events produced, 12 CUDA events collected; "
        '"CUDA device 0: Unified Memory cannot be traced on devices'
    )
    assert "nsys profile --trace=cuda,nvtx" in advice
    assert "ProfilerActivity" not in " ".join(diagnosis.notes)
    assert run(["diagnose", str(path("no_kernel_table_nvtx"))]) == UNREADABLE
    assert run(["whatif", str(path("no_kernel_table_nvtx"))]) == UNREADABLE
    assert "45 CUPTI events produced" in capsys.readouterr().err


def test_a_programs_own_ranges_are_annotations_of_its_thread() -> None:
    """Each step holds its computing, its copy, and the writing in which the GPU idles."""
    timeline = one("nvtx_io_range")
    host = timeline.host
    marks = host.kind == HostKind.ANNOTATION
    names = np.array([timeline.names[code] for code in host.name])
    steps = np.flatnonzero(marks & np.char.startswith(names, "Step "))
    writing = np.flatnonzero(marks & np.char.startswith(names, "IO "))
    assert (len(steps), len(writing), len(np.unique(host.thread[marks]))) == (44, 44, 1)
    around = np.searchsorted(host.start[steps], host.start[writing], side="right") - 1
    assert (host.end[writing] <= host.end[steps[around]]).all()
    assert (host.end - host.start)[writing].mean() / 1e6 == pytest.approx(14.64, abs=0.01)
