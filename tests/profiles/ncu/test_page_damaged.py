"""CSV pages of ncu that are cut, damaged, or hold no launch."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tailwave.errors import UnavailableError, UnreadableInputError
from tailwave.model import KernelProfile
from tests.profiles.ncu.pages import (
    LONG,
    METRICS,
    RULES,
    SECTION,
    TWO,
    launched,
    long_page,
    raw_page,
    read,
    rows,
)


def test_a_row_that_lost_its_end_is_left_out(tmp_path: Path) -> None:
    """The rows around it are read."""
    lines = raw_page([*TWO, (launched(2), METRICS)]).splitlines(keepends=True)
    lines[3] = lines[3][:60] + "\n"
    got = read(tmp_path, "".join(lines))
    assert [(p.name, p.launch) for p in got.profiles] == [("k(float *)", 0), ("k(float *)", 1)]
    assert got.notes == ("1 row left out: damaged.",)


def test_a_cut_page_is_read_with_a_note(tmp_path: Path) -> None:
    """What was whole before the cut is there."""
    got = read(tmp_path, raw_page(TWO)[:-10])
    assert len(got.profiles) == 1
    assert got.notes == ("The file ends in mid-row; what was whole before that was read.",)


def is_beginning(part: KernelProfile, whole: KernelProfile, *, last: bool) -> bool:
    """Tell whether a profile has nothing that another has not; only the last may have less."""
    same = all(whole.counters[name] == counter for name, counter in part.counters.items())
    fewer = last and set(part.counters) < set(whole.counters)
    rules = part.rules == whole.rules[: len(part.rules)]
    return (
        same
        and rules
        and (part.name, part.grid) == (whole.name, whole.grid)
        and (fewer or set(part.counters) == set(whole.counters))
    )


RULED = rows(
    [
        (*LONG, *RULES),
        *((*launched(n), "Speed", *m, "", "", "", "", "") for n in range(2) for m in METRICS),
        (*launched(1), "Launch", "", "", "", "Tail", "OPT", 'Over "two"\nlines', "global", "33.5"),
    ]
)
PAGES = {"long": long_page(TWO), "raw": raw_page(TWO), "rules": RULED}


@pytest.mark.parametrize("text", PAGES.values(), ids=PAGES)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_a_page_may_end_anywhere(tmp_path: Path, text: str, encoding: str) -> None:
    """A page cut in any field gives a beginning of its launches, or one clear error."""
    mark = "\ufeff" if encoding == "utf-16-le" else ""
    data = (mark + text).encode(encoding)
    whole = read(tmp_path, data).profiles
    for size in range(0, len(data), 3):
        try:
            got = read(tmp_path, data[:size]).profiles
        except UnreadableInputError:
            continue
        assert len(got) <= len(whole)
        for part, all_of_it in zip(got, whole, strict=False):
            assert is_beginning(part, all_of_it, last=part is got[-1])


@given(st.data())
def test_damage_gives_profiles_or_one_error(data: st.DataObject) -> None:
    """Whatever bytes are changed, nothing else is raised."""
    page = bytearray(PAGES[data.draw(st.sampled_from(sorted(PAGES)))].encode())
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(page) - 1))
        page[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    with TemporaryDirectory() as folder:
        try:
            got = read(Path(folder), bytes(page)).profiles
        except UnreadableInputError:
            return
    assert [profile.launch for profile in got] == list(range(len(got)))


@settings(deadline=None)  # the library for reports is loaded in a process of its own
@given(st.binary(max_size=200))
@example(b"NVR\x00")
def test_any_bytes_give_profiles_or_one_error(data: bytes) -> None:
    """What is no page at all is one sentence; so is a report, where nothing can open it."""
    refusals = (UnreadableInputError, UnavailableError)
    with TemporaryDirectory() as folder, pytest.raises(refusals):
        read(Path(folder), data)


REFUSED = {
    "empty": ("", "is empty: give a .ncu-rep, or what"),
    "blank": (" \n\t\n", "is empty"),
    "text": ("hello\n", "is neither a report of ncu nor a CSV page of it"),
    "another table": ("a,b\n1,2\n", "is neither a report of ncu nor a CSV page of it"),
    "JSON": ('{"traceEvents": []}', "is neither a report of ncu nor a CSV page of it"),
    "header alone": (rows([LONG]), "holds no kernel launch: give"),
    "half a header": (rows([LONG])[:80], "ends before its first launch"),
    "units alone": (raw_page(TWO).split('"0"')[0], "holds no kernel launch"),
    "half a row": (raw_page(TWO[:1])[:-9], "ends before its first launch"),
    "nothing profiled": (
        "==PROF== Connected\n==WARNING== No kernels were profiled.\n",
        "holds no kernel launch; ncu says there: No kernels were profiled: profile again",
    ),
    "no permission": (
        "==ERROR== ERR_NVGPUCTRPERM - no permission\n==WARNING== No kernels were profiled.\n",
        "ncu may not read counters there (ERR_NVGPUCTRPERM); run it as root, or have the driver",
    ),
    "messages only": ("==PROF== Connected to process 1\n", "holds no kernel launch"),
    "summary": (
        rows([("ID", "Kernel Name", "Invocations", "Metric Name", "Minimum", "Average")]),
        "is a summary over launches: export it again without --print-summary",
    ),
    "summary as ncu 2023 and later head it": (
        rows(
            [
                ("Process ID", "Kernel Name", "Invocations", "Metric Name", "Minimum", "Average"),
                ("10", "k()", "14", "Duration", "1", "2"),
            ]
        ),
        "is a summary over launches: export it again without --print-summary",
    ),
    "names of counters": (
        '"Metric Name","Metric Type","Metric Unit"\n"dram__bytes","Counter","byte"\n',
        "is a list of counters' names",
    ),
    "nvprof": (
        "==7== NVPROF is profiling process 7, command: ./a.out\n==7== Profiling result:\n",
        "is output of nvprof, not of ncu",
    ),
    "source page": (
        '==PROF== Connected to process 1\n"#","Address","Source","# Samples"\n"0","7f","MOV","1"\n',
        "is ncu's source page, without counters",
    ),
    "text page": (
        "==PROF== Connected\n  k(float *) (1, 1, 1)x(32, 1, 1)\n    Section: Occupancy\n",
        "is ncu's output for a person, not CSV",
    ),
    "rows alone": (
        rows([(*launched(), SECTION, "gpu__time_duration.sum", "ns", "1")]),
        "is a page without its header row",
    ),
}


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=REFUSED)
def test_what_holds_no_launch_is_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    """It names the file, says what it is, and what to do."""
    with pytest.raises(UnreadableInputError) as caught:
        read(tmp_path, text)
    said = str(caught.value)
    assert said.startswith(str(tmp_path / "page.csv"))
    assert words in said
    assert said.endswith(".")
    assert "\n" not in said
