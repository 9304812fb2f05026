"""``tailwave diagnose`` on kernel profiles, alone and with a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tailwave.cli import run
from tailwave.errors import UNREADABLE
from tailwave.reports.chrome import to_chrome
from tests.builders import Trace, kernel, steps
from tests.documents import checked
from tests.profiles.ncu.pages import LAUNCH, launched, long_page, rows
from tests.profiles.ncu.real_pages import launches, page

RAW, DETAILS = page("planted_faults.raw"), page("planted_faults.details")
HEALTHY = (1, 3, 9, 12)


@pytest.fixture(name="profile")
def write_profile(tmp_path: Path) -> Path:
    """Write the raw CSV page of the planted faults."""
    path = tmp_path / "kernels.csv"
    path.write_text(RAW, "utf-8")
    return path


@pytest.fixture(name="details")
def write_details(tmp_path: Path) -> Path:
    """Write their details page."""
    path = tmp_path / "details.csv"
    path.write_text(DETAILS, "utf-8")
    return path


@pytest.fixture(name="recording")
def write_recording(tmp_path: Path) -> Path:
    """Write a recording in which k01 is 40% of each step."""

    def body(trace: Trace) -> None:
        trace.launch(0, 4, kernel("k01(float*)", 5, 405, grid=1320))
        trace.launch(5, 9, kernel("rest", 405, 1005, grid=1056))

    path = tmp_path / "trace.json"
    path.write_bytes(to_chrome(steps(4, 30, body, gpu=1000)))
    return path


def document(capsys: pytest.CaptureFixture[str], *files: Path) -> dict[str, Any]:
    """Return the document of a diagnosis, which the schema must allow."""
    assert run(["diagnose", "--json", *map(str, files)]) == 0
    return checked(capsys.readouterr().out, "diagnosis")


def test_a_page_alone(profile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each planted fault comes first of its kernel, from a CSV page as from the report."""
    found = document(capsys, profile)
    assert found["source"]["kind"] == "ncu-csv raw"
    assert found["source"]["events"] == 16
    assert found["steps"] is None
    assert found["findings"] == []
    first = {
        (kernel["name"].partition("(")[0], kernel["grid"][0]): kernel["findings"][0]["code"]
        for kernel in found["kernels"]
        if kernel["findings"] and kernel["findings"][0]["severity"] in ("major", "critical")
    }
    assert first == {
        ("k01", 1320): "bank-conflict",
        ("k03", 133): "wave-tail",
        ("k03", 8): "small-grid",
        ("k04", 528): "atomic-contention",
        ("k05", 1056): "memory-latency",
        ("k06", 1320): "barrier-stall",
        ("k07", 1320): "divergence",
        ("k09", 65536): "uncoalesced",
        ("k10", 528): "sm-imbalance",
        ("k12", 528): "low-occupancy",
        ("k14", 132): "spin-wait",
    }


def test_the_kernel_that_loses_most_heads_the_report(
    profile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What to do comes first, then a report a kernel: its bound, its findings, its figures."""
    assert run(["diagnose", str(profile)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("k01: Bank conflicts make shared-memory accesses take 32 times")
    after_head = out.partition("Kernels, by the time that they lose")[2]
    positions = [
        after_head.index(text)
        for text in (
            "1. k01",
            "Bound by the L1, at >99% of its peak",
            "CRITICAL  Shared-memory accesses conflict in their banks: 97% of the kernel",
            "tailwave explain bank-conflict",
            "figures   the L1 (of its peak) >99%",
            "2. k09",
        )
    ]
    assert positions == sorted(positions)


def test_a_page_and_a_recording(
    profile: Path, recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Together, in whatever order: what the kernel loses is counted in the recording's step."""
    found = document(capsys, profile, recording)
    assert found["source"]["kind"] == "kineto"
    top = found["findings"][0]
    assert top["code"] == "bank-conflict"
    assert top["recoverable_us"] == pytest.approx(387, rel=0.02)
    (place,) = (kernel["in_trace"] for kernel in found["kernels"] if kernel["in_trace"])
    assert place["calls"] == 1
    assert place["step_us"] == 400


@pytest.mark.parametrize(("severity", "code"), [("critical", 1), ("info", 1)])
def test_a_kernels_finding_fails_the_command_when_asked(
    profile: Path, severity: str, code: int
) -> None:
    """Of profiles alone, --fail-on looks at the kernels' findings."""
    assert run(["diagnose", str(profile), "--fail-on", severity]) == code


@pytest.mark.parametrize(("text", "end"), [(RAW, "."), (DETAILS, ", but 7 questions are open")])
def test_healthy_kernels_fail_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, end: str
) -> None:
    """Nothing above info, so nothing minor; the report says so, and what a page leaves open."""
    path = tmp_path / "healthy.csv"
    path.write_text(launches(text, HEALTHY), "utf-8")
    assert run(["diagnose", str(path), "--fail-on", "minor"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    nothing = "Nothing was found that costs any of these 4 kernels time worth a cure"
    assert out.startswith(f"{nothing}{end}")


def test_a_details_page_alone(details: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whose figure a share is, what is open of a kernel, and at the end how to get the rest."""
    assert run(["diagnose", str(details)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    parts = (
        "k01: ncu estimates that uncoalesced shared accesses cost 97% of the kernel",
        "device CC 9.0, 132 SMs",
        "CRITICAL Warps run with part of their lanes: 70% of the kernel at most, going by ncu",
        "ncu estimates that diverging threads cost 70% of the kernel; tailwave's own figure needs",
        "4 questions are open, for the profile lacks what answers them",
        "What the profile does not answer",
        "give the report itself, or its raw page (ncu --import REPORT --csv --page raw > raw.csv)",
    )
    for part in parts:
        _, found, out = out.partition(part)
        assert found


def test_a_details_page_as_a_document(details: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each finding says whose figure it is; the device has no name."""
    found = document(capsys, details)
    assert (found["device"]["name"], found["device"]["sm_count"]) == (None, 132)
    kernels = {kernel["name"].partition("(")[0]: kernel for kernel in found["kernels"]}
    assert [one["by"] for one in kernels["k01"]["findings"]] == ["ncu"]
    assert [one["by"] for one in kernels["k07"]["findings"]] == ["ncu"]


def test_what_is_not_answered_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A page with the duration alone answers nothing, and says what to record."""
    path = tmp_path / "few.csv"
    units = (*("" for _ in LAUNCH), "ns")
    page = rows([(*LAUNCH, "gpu__time_duration.sum"), units, (*launched(), "1000")])
    path.write_text(page, "utf-8")
    assert run(["diagnose", str(path)]) == 0
    out = capsys.readouterr().out
    assert "What the profile does not answer" in out
    assert "do shared-memory accesses conflict in their banks? It needs" in out
    assert "tailwave metrics --for sm-imbalance --for low-occupancy" in out.replace("\n", " ")


def test_an_empty_page_is_unreadable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence, and the exit code for unreadable input."""
    path = tmp_path / "kernels.csv"
    path.write_text(RAW[:60], "utf-8")
    assert run(["diagnose", str(path)]) == UNREADABLE
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1


def test_without_counters_nothing_is_praised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """That nothing was found means little where nothing was asked: the first sentence says so."""
    path = tmp_path / "few.csv"
    units = (*("" for _ in LAUNCH), "ns")
    path.write_text(
        rows([(*LAUNCH, "gpu__time_duration.sum"), units, (*launched(), "1000")]), "utf-8"
    )
    assert run(["diagnose", str(path)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith(
        "Nothing was found that costs this kernel time worth a cure, but 12 questions are open"
    )
    assert "nothing found that costs it time, but 12 questions are open" in out


def test_a_file_given_twice_counts_once(
    profile: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under any spelling of its path."""
    monkeypatch.chdir(profile.parent)
    found = document(capsys, profile, Path(profile.name))
    assert found["source"]["events"] == 16
    assert {kernel["launches"] for kernel in found["kernels"]} == {1}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_pages_of_one_report_count_once(
    order: tuple[int, int], profile: Path, details: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The raw page has the counters, the details page ncu's estimates: both are said, once."""
    alone = document(capsys, profile)
    files = (profile, details)
    found = document(capsys, *(files[place] for place in order))
    assert (found["source"]["kind"], found["source"]["events"]) == ("ncu-csv raw", 16)
    assert found["notes"] == [
        f"16 launches of {details} count once, with the counters of {profile}."
    ]
    assert [kernel["launches"] for kernel in found["kernels"]] == [1] * 16
    shares = [[f["share"] for f in kernel["findings"]] for kernel in found["kernels"]]
    assert shares == [[f["share"] for f in kernel["findings"]] for kernel in alone["kernels"]]
    assert "ncu's UncoalescedSharedAccess" in "".join(found["kernels"][0]["findings"][0]["theirs"])


def test_files_of_two_kinds_are_of_ncu(
    profile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A raw and a details page."""
    other = tmp_path / "details.csv"
    other.write_text(long_page([(launched(), [("Duration", "ns", "1,000.5")])]), "utf-8")
    assert document(capsys, profile, other)["source"]["kind"] == "ncu"


def test_with_a_recording_only_its_kernels_are_shown(
    profile: Path, recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others are in a note, and in the document behind those of the step."""
    assert run(["diagnose", str(recording), str(profile)]) == 0
    out = capsys.readouterr().out
    assert " 1. k01\n" in out
    assert " 2. k" not in out.partition("Kernels, by")[2]
    assert "Profiled, but not in the recording's step: " in " ".join(out.split())
    kernels = document(capsys, recording, profile)["kernels"]
    assert [kernel["in_trace"] is not None for kernel in kernels] == [True] + [False] * 15


def test_a_recording_of_another_program_is_said_to_be_one(
    profile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No kernel in common: one sentence in place of kernels that the step does not run."""

    def body(trace: Trace) -> None:
        trace.launch(5, 9, kernel("rest", 10, 1005, grid=1056))

    path = tmp_path / "other.json"
    path.write_bytes(to_chrome(steps(4, 30, body, gpu=1000)))
    assert run(["diagnose", str(path), str(profile)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "None of the profiled kernels is in the recording's step: profile the program" in out
    assert " 1. k" not in out


def test_of_many_kernels_the_worst_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Twenty, and how many more there are."""
    path = tmp_path / "many.csv"
    page = [(launched(n, f"k{n}()"), [("Duration", "ns", "1,000.5")]) for n in range(25)]
    path.write_text(long_page(page), "utf-8")
    assert run(["diagnose", str(path)]) == 0
    out = capsys.readouterr().out
    assert "20. k19\n" in out
    assert "k20" not in out
    assert "and 5 more, which lose no more than these: --json has all" in out
