"""Reports of ncu: through NVIDIA's library where it is installed, else through a stand-in."""

from __future__ import annotations

import gzip
import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tailwave.errors import UnavailableError, UnreadableInputError
from tailwave.model import Counter, KernelProfiles, RuleKind, RuleResult
from tailwave.profiles.ncu import read_profiles
from tests import places
from tests.profiles.ncu import fake_library
from tests.profiles.ncu.test_blocks import report

DATA = places.DATA / "ncu"
REPORTS = ("planted_faults", "article_tests")
needs_library = pytest.mark.skipif(
    importlib.util.find_spec("ncu_report") is None, reason="needs ncu-report"
)


@cache
def recorded(name: str) -> bytes:
    """Return a report of an H200, recorded with ncu 2025.3."""
    return gzip.decompress((DATA / f"{name}.ncu-rep.gz").read_bytes())


def saved(folder: Path, data: bytes) -> Path:
    """Save a report."""
    path = folder / "some.ncu-rep"
    path.write_bytes(data)
    return path


@needs_library
@pytest.mark.parametrize("name", REPORTS)
def test_a_report_says_what_nvidia_s_library_says(tmp_path: Path, name: str) -> None:
    """Names, shapes, sizes, counters and rules are as in the truth, which was made without us."""
    got = read_profiles(saved(tmp_path, recorded(name)))
    truth = json.loads((DATA / f"{name}.json").read_text("utf-8"))
    assert (got.kind, got.notes, len(got.profiles)) == ("ncu-report", (), len(truth))
    for profile, launch in zip(got.profiles, truth, strict=True):
        assert (profile.name, profile.names[-1]) == (launch["name"], launch["mangled"])
        assert (profile.grid, profile.block) == (tuple(launch["grid"]), tuple(launch["block"]))
        assert profile.registers == launch["registers"]
        assert profile.static_shared == launch["static_shared"]
        assert profile.dynamic_shared == launch["dynamic_shared"]
        assert len(profile.counters) == launch["metrics"]
        assert {
            n: [c.value, c.unit] for n, c in profile.counters.items() if n in launch["counters"]
        } == (launch["counters"])
        assert [[r.name, r.speedup] for r in profile.rules] == [
            [n, s] for n, _, s in launch["rules"]
        ]


@needs_library
def test_what_a_report_says_of_the_machine(tmp_path: Path) -> None:
    """The device, the stream, and shares of stalls that add up."""
    profile = read_profiles(saved(tmp_path, recorded("planted_faults"))).profiles[0]
    assert profile.device is not None
    assert (profile.device.name, profile.device.sm_count) == ("NVIDIA H200", 132)
    assert (profile.device.compute_major, profile.device.shared_per_sm) == (9, 233472)
    assert profile.stream == 7
    assert profile.stalls["short_scoreboard"].value == pytest.approx(0.5677, abs=1e-4)
    shares = [c.value for c in profile.stalls.values() if isinstance(c.value, float)]
    assert sum(shares) == pytest.approx(1)


@needs_library
@pytest.mark.parametrize(
    ("size", "launches"), [(115_000, None), (1_000_000, 4), (2_900_000, 15), (2_996_270, 15)]
)
def test_a_report_that_ends_early(tmp_path: Path, size: int, launches: int | None) -> None:
    """The library says nothing of a cut; we do."""
    path = saved(tmp_path, recorded("planted_faults")[:size])
    if launches is None:
        with pytest.raises(UnreadableInputError, match="ends before its first whole kernel launch"):
            read_profiles(path)
        return
    got = read_profiles(path)
    assert len(got.profiles) == launches
    said = f"The report ends early; the {launches} kernel launches before that were read."
    assert got.notes == (said,)


@needs_library
def test_a_report_on_which_the_library_aborts(tmp_path: Path) -> None:
    """Damage to the first block's length ends the library's process, and not ours."""
    data = bytearray(recorded("planted_faults"))
    data[10:14] = b"\xff\xff\xff\xff"
    with pytest.raises(UnreadableInputError, match="is a damaged report"):
        read_profiles(saved(tmp_path, bytes(data)))


@needs_library
def test_a_result_that_is_damaged_is_counted(tmp_path: Path) -> None:
    """The others are read, and the loss is told."""
    data = bytearray(recorded("planted_faults"))
    data[700_000:760_000] = bytes(60_000)
    got = read_profiles(saved(tmp_path, bytes(data)))
    assert len(got.profiles) < 16
    lost = 16 - len(got.profiles)
    assert got.notes[0] == f"The report is damaged; {lost} of its 16 results are lost."


@needs_library
@pytest.mark.parametrize("data", [b"NVR\0", b"NVR\0\2\0\0\0\x08\7", b"NVR\0" + bytes(500)])
def test_a_report_of_nothing(tmp_path: Path, data: bytes) -> None:
    """One sentence, whatever follows the first four bytes."""
    with pytest.raises(UnreadableInputError, match="launch"):
        read_profiles(saved(tmp_path, data))


def test_without_the_library_there_is_another_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence has both: what to install, and how to do without."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    path = saved(tmp_path, b"NVR\0")
    with pytest.raises(UnavailableError) as caught:
        read_profiles(path)
    assert str(caught.value) == (
        f"{path} is a report of ncu and needs NVIDIA's ncu-report: pip install 'tailwave[ncu]', or "
        "export it with `ncu --import some.ncu-rep --csv --page raw > some.csv` and give that."
    )
    assert caught.value.exit_code == 69


def stand_in(
    folder: Path, monkeypatch: pytest.MonkeyPatch, ranges: list[Any], data: bytes
) -> KernelProfiles:
    """Read a report that the stand-in says holds these ranges of launches."""
    source = Path(str(fake_library.__file__)).read_text("utf-8")
    (folder / "ncu_report.py").write_text(source, "utf-8")
    (folder / "some.json").write_text(json.dumps(ranges), "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.syspath_prepend(str(folder))
    return read_profiles(saved(folder, data))


KERNEL: dict[str, Any] = {
    "names": ["f", "void f<int>(int)", "_Z1fIiEvi"],
    "metrics": {
        "gpu__time_duration.sum": ["usecond", 2.5],
        "launch__registers_per_thread": ["register/thread", 32],
        "launch__func_cache_config": ["", "CachePreferNone"],
        "nothing": ["inst", None],
        "nan": ["inst", "nan"],
    },
    "rules": [
        {
            "name": "Tail",
            "type": 2,
            "message": "See @section:Occ:the Occupancy@, @url:a guide:https://x.y/z@.",
            "speedup": 33.5,
            "scope": 2,
        },
        {"name": "Silent", "type": 0, "message": ""},
    ],
    "nvtx": [["outer", "inner"]],
}


def test_a_launch_is_taken_over_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every name, base units, reasons for what has no value, rules without their links."""
    [profile] = stand_in(tmp_path, monkeypatch, [[KERNEL]], report([1])).profiles
    assert profile.names == ("void f<int>(int)", "f", "_Z1fIiEvi")
    assert profile.counters == {
        "gpu__time_duration.sum": Counter(2500.0, "ns"),
        "launch__registers_per_thread": Counter(32.0, "register/thread"),
        "launch__func_cache_config": Counter("CachePreferNone"),
        "nothing": Counter(None, "inst", "the report holds no value"),
        "nan": Counter(None, "inst", "the report holds no value"),
    }
    message = "See the Occupancy, a guide."
    kind = RuleKind.OPTIMIZATION
    assert profile.rules == (RuleResult("Tail", kind, message, "Title", "Section", 33.5, "global"),)
    assert profile.nvtx == ("outer", "inner")


def test_launches_of_all_ranges_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges of the profiler, and results that are no kernels, which are told."""
    other = KERNEL | {"workload": 1}
    ranges = [[KERNEL, other], [], [KERNEL | {"names": ["g", "g()", "_Z1gv"]}]]
    got = stand_in(tmp_path, monkeypatch, ranges, report([3]))
    assert [(p.name, p.launch) for p in got.profiles] == [("void f<int>(int)", 0), ("g()", 1)]
    assert got.notes == ("1 result left out: ranges or graphs.",)


def test_results_of_ranges_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report of range replay has counters of no kernel."""
    with pytest.raises(UnreadableInputError, match="holds results of ranges or graphs and no"):
        stand_in(tmp_path, monkeypatch, [[KERNEL | {"workload": 1}]], report([1]))


def test_counters_that_do_not_read_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library finds no metric of a name that it gave."""
    damaged = KERNEL | {"metrics": {"gone": None, "m": ["inst", 1]}}
    got = stand_in(tmp_path, monkeypatch, [[damaged]], report([1]))
    assert got.profiles[0].counters == {"m": Counter(1.0, "inst")}
    assert got.notes == ("1 counter or rule left out: damaged.",)


def test_what_came_before_an_abort_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's end is not ours."""
    got = stand_in(tmp_path, monkeypatch, [[KERNEL, "abort", KERNEL]], report([3]))
    assert [p.name for p in got.profiles] == ["void f<int>(int)"]
    assert got.notes == ("The report is damaged; 2 of its 3 results are lost.",)


def test_a_library_that_does_not_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reason is passed on."""
    (tmp_path / "ncu_report.py").write_text("raise ImportError('GLIBC_9 not found')", "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UnavailableError, match=r"does not load \(GLIBC_9 not found\): pip install"):
        read_profiles(saved(tmp_path, report([1])))
