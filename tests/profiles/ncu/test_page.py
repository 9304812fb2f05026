"""CSV pages of ncu into kernel profiles."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwave.model import Counter, KernelProfile, RuleKind, RuleResult
from tailwave.profiles.ncu.numbers import AMBIGUOUS
from tests.profiles.ncu.pages import (
    HITS,
    LAUNCH,
    LONG,
    METRICS,
    NVTX,
    RULES,
    STORED,
    TIME,
    TWO,
    Metric,
    launched,
    long_page,
    raw_page,
    read,
    rows,
)
from tests.profiles.ncu.test_numbers import LANGUAGES, written

VALUES = {TIME: (1205500.0, "ns"), HITS: (82.25, "%"), STORED: (12500.0, "byte")}
WRITERS = {"long": long_page, "raw": raw_page}
Writer = Callable[[Sequence[tuple[tuple[str, ...], Sequence[Metric]]]], str]
each_page = pytest.mark.parametrize("page", WRITERS.values(), ids=WRITERS)
UNITLESS = "Counters are left out whose units the file lacks: export it again."


def values(profile: KernelProfile) -> dict[str, tuple[object, str]]:
    """Return the value and unit of each counter."""
    return {name: (counter.value, counter.unit) for name, counter in profile.counters.items()}


@each_page
def test_a_page_gives_its_launches_in_order(tmp_path: Path, page: Writer) -> None:
    """All that the columns say of a launch is there, its counters in base units."""
    first, second = read(tmp_path, page(TWO)).profiles
    assert (first.name, first.launch, second.name, second.launch) == (
        *("k(float *)", 0),
        *("void f<int, 2>(T1 *)", 1),
    )
    assert (first.grid, first.block, first.stream, first.context) == (
        *((1320, 2, 1), (256, 1, 1)),
        *(7, 1),
    )
    assert (first.process_id, first.process_name) == (42, "app")
    assert first.device is not None
    assert (first.device.index, first.device.compute_major, first.device.compute_minor) == (0, 9, 0)
    assert values(first) == values(second) == VALUES


@each_page
def test_the_kind_says_which_page(tmp_path: Path, page: Writer) -> None:
    """Details are rounded to two decimals, so it matters which page it was."""
    expected = "ncu-csv details" if page is long_page else "ncu-csv raw"
    assert read(tmp_path, page(TWO)).kind == expected


@each_page
@pytest.mark.parametrize("capability", ["7.0", "7.5", "8.9", "10.0", "12.1"])
def test_every_generation(tmp_path: Path, page: Writer, capability: str) -> None:
    """The compute capability is that of the column, with one digit or two."""
    launch = (*launched()[:-1], capability)
    [profile] = read(tmp_path, page([(launch, METRICS)])).profiles
    assert profile.device is not None
    major, _, minor = capability.partition(".")
    assert profile.device.compute_major == int(major)
    assert profile.device.compute_minor == int(minor)


@each_page
def test_messages_and_output_stand_anywhere(tmp_path: Path, page: Writer) -> None:
    """Lines of ncu and of the program, before, between and after the rows, are no rows."""
    noise = '==PROF== Profiling "k" - 0: 0%....100% - 9 passes\n2208 "done", 1\n==WARNING== slow\n'
    text = noise + noise.join(page(TWO).splitlines(keepends=True)) + noise
    got = read(tmp_path, text)
    assert got.profiles == read(tmp_path, page(TWO)).profiles
    assert got.notes == ()


@each_page
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_every_encoding(tmp_path: Path, page: Writer, encoding: str, ending: str) -> None:
    """Files of Windows and of its PowerShell read as those of Linux."""
    text = page(TWO).replace("\n", ending)
    mark = "\ufeff" if encoding.startswith("utf-16") else ""
    assert read(tmp_path, (mark + text).encode(encoding)) == read(tmp_path, page(TWO))


def test_an_old_windows_page_keeps_its_spaces(tmp_path: Path) -> None:
    """Digits are grouped by a byte that is no UTF-8 there."""
    text = long_page([(launched(), [(TIME, "ns", "1\u00a0234,5")])])
    [profile] = read(tmp_path, text.encode("cp1252")).profiles
    assert profile.value(TIME) == 1234.5


@pytest.mark.parametrize(("group", "mark"), LANGUAGES.values(), ids=LANGUAGES)
@pytest.mark.parametrize("page", WRITERS.values(), ids=WRITERS)
@given(
    whole=st.integers(0, 10**15),
    parts=st.lists(st.decimals(0, 10**12, places=2), min_size=1, max_size=5),
)
def test_figures_come_back_in_every_language(
    page: Writer, group: str, mark: str, whole: int, parts: list[Decimal]
) -> None:
    """A whole number and some with decimals, in the page of one machine."""
    figures = [Decimal(whole), *parts]
    metrics = [(f"m{n}", "", written(figure, group, mark)) for n, figure in enumerate(figures)]
    with TemporaryDirectory() as folder:
        [profile] = read(Path(folder), page([(launched(), metrics)])).profiles
    assert [profile.value(f"m{n}") for n in range(len(figures))] == [float(f) for f in figures]


def test_a_number_that_could_be_two_is_neither(tmp_path: Path) -> None:
    """It is left out with the reason, and not guessed."""
    [profile] = read(tmp_path, long_page([(launched(), [(TIME, "ns", "117.344")])])).profiles
    assert profile.counters[TIME] == Counter(None, "ns", f"117.344: {AMBIGUOUS}")
    assert profile.value(TIME) is None


@each_page
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("n/a", "ncu wrote n/a"),
        ("", "empty in the file"),
        ("nan", "ncu wrote nan"),
        ("-inf", "ncu wrote -inf"),
        ("1e999", "1e999: too large"),
    ],
)
def test_a_cell_without_a_value_says_why(
    tmp_path: Path, page: Writer, text: str, reason: str
) -> None:
    """What ncu could not measure is no 0."""
    [profile] = read(tmp_path, page([(launched(), [*METRICS, ("m", "inst", text)])])).profiles
    assert profile.counters["m"] == Counter(None, "inst", reason)
    assert profile.why_missing("m") == reason
    assert profile.why_missing("other") == "not collected"
    assert profile.why_missing(TIME) == ""


@each_page
def test_words_stay_words(tmp_path: Path, page: Writer) -> None:
    """A property that is a word, or a list of numbers, is kept as it is written."""
    words = [
        ("launch__func_cache_config", "", "CachePreferNone"),
        ("launch__tpc_enabled", "", "0,2"),
    ]
    [profile] = read(tmp_path, page([(launched(), [*METRICS, *words])])).profiles
    assert profile.counters["launch__func_cache_config"].value == "CachePreferNone"
    assert profile.counters["launch__tpc_enabled"].value == "0,2"
    assert profile.value("launch__tpc_enabled") is None
    assert profile.why_missing("launch__tpc_enabled") == "a word, '0,2'"


def test_instances_are_left_to_their_sum(tmp_path: Path) -> None:
    """With --print-metric-instances the value stands before them."""
    metrics = [("m", "inst", "1,234 (1,000; 234)"), *METRICS]
    [profile] = read(tmp_path, raw_page([(launched(), metrics)])).profiles
    assert profile.value("m") == 1234


def test_processes_have_launches_of_their_own(tmp_path: Path) -> None:
    """Each process counts its launches from 0, and their rows may lie between each other's."""
    text = long_page(
        [
            (launched(0, process=42), METRICS[:1]),
            (launched(0, process=43), METRICS[:1]),
            (launched(0, process=42), METRICS[1:]),
        ]
    )
    first, second = read(tmp_path, text).profiles
    assert (first.process_id, second.process_id) == (42, 43)
    assert values(first) == VALUES
    assert values(second) == {TIME: VALUES[TIME]}


def test_two_exports_in_one_file(tmp_path: Path) -> None:
    """A header begins a new table, whose launches come after."""
    got = read(tmp_path, raw_page(TWO) + long_page([(launched(7), METRICS)]))
    assert [p.launch for p in got.profiles] == [0, 1, 2]
    assert [p.number for p in got.profiles] == [*(int(launch[0]) for launch, _ in TWO), 7]
    assert (got.kind, got.notes) == ("ncu-csv details and raw", ())


@pytest.mark.parametrize(
    ("again", "note"),
    [
        (1, "1 launch stands in the file more than once, and counts once."),
        (2, "2 launches stand in the file more than once, and count once."),
    ],
)
def test_an_export_of_the_same_launches(tmp_path: Path, again: int, note: str) -> None:
    """Each counts once, as when a page is appended to another of the same report."""
    got = read(tmp_path, raw_page(TWO) + long_page(TWO[:again]))
    assert [p.launch for p in got.profiles] == [0, 1]
    assert got.notes == (note,)


def test_labels_of_the_details_page_are_metrics(tmp_path: Path) -> None:
    """The name is the metric's, the label is kept; the unit tells two of one label apart."""
    details = [
        ("Duration", "usecond", "3.20"),
        ("Memory Throughput", "%", "14.26"),
        ("Memory Throughput", "Gbyte/second", "1.50"),
        ("Registers Per Thread", "register/thread", "32"),
        ("Static Shared Memory Per Block", "Kbyte/block", "4.22"),
        ("Stall Long Scoreboard", "inst", "2.50"),
        ("Warp Cycles Per Issued Instruction", "cycle", "10.00"),
        ("Something New", "inst", "7"),
    ]
    [profile] = read(tmp_path, long_page([(launched(), details)])).profiles
    stall = "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"
    memory = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
    assert profile.counters[TIME] == Counter(3200.0, "ns", source="Duration")
    assert profile.value(memory) == 14.26
    assert profile.value("dram__bytes.sum.per_second") == 1.5e9
    assert (profile.registers, profile.static_shared) == (32, 4220)
    assert profile.stalls == {"long_scoreboard": Counter(0.25, "ratio", source=stall)}
    assert profile.counters["Something New"] == Counter(7.0, "inst")


def test_rules_of_the_details_page(tmp_path: Path) -> None:
    """A rule's row has no metric; its message may hold commas, quotes and line breaks."""
    message = 'Look at "x", and\nat y,\nthen at z.'
    table = [
        (*LONG, *RULES),
        (*launched(), "Speed", "Duration", "ns", "2,848", "", "", "", "", ""),
        (*launched(), "Launch", "", "", "", "Tail", "OPT", message, "global", "33.5"),
        (*launched(), "Launch", "", "", "", "Note", "INF", "Well.", "", ""),
        (*launched(), "Launch", "", "", "", "Empty", "OPT", "", "", ""),
    ]
    [profile] = read(tmp_path, rows(table)).profiles
    assert profile.value(TIME) == 2848
    assert profile.rules == (
        RuleResult("Tail", RuleKind.OPTIMIZATION, message, "", "Launch", 33.5, "global"),
        RuleResult("Note", RuleKind.NOTE, "Well.", "", "Launch"),
    )


def test_empty_fields_at_the_end_of_a_row_may_lack(tmp_path: Path) -> None:
    """A metric's row ends after the value, where the columns of rules follow."""
    row = rows([(*launched(), "Speed", "Duration", "ns", "2848")]).replace('"\n', '",\n')
    [profile] = read(tmp_path, rows([(*LONG, *RULES)]) + row).profiles
    assert profile.value(TIME) == 2848


def test_columns_of_nvtx_are_ranges(tmp_path: Path) -> None:
    """They are no counters."""
    header = (*LAUNCH, NVTX, TIME)
    units = ("",) * (len(LAUNCH) + 1) + ("ns",)
    text = rows([header, units, (*launched(), "<default domain>:step:none", "12.50")])
    [profile] = read(tmp_path, text).profiles
    assert profile.nvtx == ("<default domain>:step:none",)
    assert profile.counters.keys() == {TIME}


def test_the_oldest_columns(tmp_path: Path) -> None:
    """Before the shapes had columns, a blank line followed the header; the counters have them."""
    header = (
        *("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time"),
        *("Context", "Stream", "Section Name", "Metric Name", "Metric Unit", "Metric Value"),
    )
    launch = (
        "0",
        "21",
        "app",
        "127.0.0.1",
        "k",
        "2020-Apr-07 17:01:05",
        "1",
        "7",
        "GPU Speed Of Light",
    )
    sizes = [
        (*launch, f"launch__grid_dim_{a}", "block", str(n))
        for a, n in zip("xyz", (4, 2, 1), strict=True)
    ]
    text = rows([header]) + "\n" + rows([*sizes, (*launch, "SOL SM", "%", "39.60")])
    [profile] = read(tmp_path, text).profiles
    assert (profile.grid, profile.block, profile.device) == ((4, 2, 1), None, None)
    assert profile.value("sm__throughput.avg.pct_of_peak_sustained_elapsed") == 39.6


def test_a_page_without_units_has_no_values(tmp_path: Path) -> None:
    """1,205.50 of nobody knows what is not taken for nanoseconds."""
    lines = raw_page(TWO).splitlines(keepends=True)
    got = read(tmp_path, lines[0] + "".join(lines[2:]))
    assert got.profiles[0].value(TIME) is None
    assert got.profiles[0].why_missing(TIME) == "the page lacks its row of units"
    assert got.notes == (UNITLESS,)


def test_a_details_page_without_its_column_of_units(tmp_path: Path) -> None:
    """1.04 of milliseconds is not one nanosecond."""
    header = ("ID", "Kernel Name", "Metric Name", "Metric Value")
    got = read(tmp_path, rows([header, ("0", "k", "Duration", "1.04")]))
    [profile] = got.profiles
    assert profile.why_missing(TIME) == "the page lacks its column of units"
    assert got.notes == (UNITLESS,)


@each_page
def test_a_time_without_a_unit_is_none(tmp_path: Path, page: Writer) -> None:
    """Other counters have none either, but count in ones."""
    metrics = [(TIME, "", "1.04"), ("m.sum", "", "1.04")]
    got = read(tmp_path, page([(launched(), metrics)]))
    [profile] = got.profiles
    assert (profile.value(TIME), profile.why_missing(TIME)) == (None, "without a unit of time")
    assert (profile.value("m.sum"), got.notes) == (1.04, ())


def test_launches_without_numbers_are_told_by_their_shapes(tmp_path: Path) -> None:
    """A page that lost its first column."""
    launches = [launched(), (*launched()[:8], "(8, 1, 1)", *launched()[9:])]
    table = [(*launch[1:], "Section", *metric) for launch in launches for metric in METRICS]
    got = read(tmp_path, rows([LONG[1:], *table])).profiles
    assert [profile.grid for profile in got] == [(1320, 2, 1), (8, 1, 1)]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_a_page_that_a_spreadsheet_saved(tmp_path: Path, separator: str) -> None:
    """Where the comma begins decimals, spreadsheets separate with semicolons, and quote less."""
    metrics = [("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "65,77")]
    text = io.StringIO()
    table = csv.reader(io.StringIO(long_page([(launched(), metrics)])))
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows(table)
    [profile] = read(tmp_path, text.getvalue()).profiles
    assert profile.value("sm__throughput.avg.pct_of_peak_sustained_elapsed") == 65.77
    assert profile.grid == (1320, 2, 1)


def test_labels_of_2020(tmp_path: Path) -> None:
    """A blank line below the header, the date of the launch, and SOL for throughput."""
    header = (
        *("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context"),
        *("Stream", "Section Name", "Metric Name", "Metric Unit", "Metric Value"),
    )
    launch = ("0", "9", "cfd", "127.0.0.1", "step_factor", "2020-Apr-07 17:01:05", "1", "7")
    metrics = [
        ("SOL FB", "%", "39.60"),
        ("SOL L2", "%", "29.05"),
        ("SOL TEX", "%", "31.10"),
        ("Duration", "nsecond", "11450"),
    ]
    table = rows([(*launch, "GPU Speed Of Light", *metric) for metric in metrics])
    [profile] = read(tmp_path, f"{rows([header])}\n{table}").profiles
    assert profile.value("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed") == 39.6
    assert profile.value("lts__throughput.avg.pct_of_peak_sustained_elapsed") == 29.05
    assert profile.value("l1tex__throughput.avg.pct_of_peak_sustained_active") == 31.1
    assert profile.value("gpu__time_duration.sum") == 11450


def test_fields_without_quotes(tmp_path: Path) -> None:
    """Scripts that rewrite a page leave empty fields bare."""
    header = (*LAUNCH[:7], "Metric Name", "Metric Unit", "Metric Value")
    row = '"0","12345","python.exe","localhost","void sweep<float, 256>",,,"{}","{}",{}\n'
    text = rows([header]) + row.format("gpu__time_duration.sum", "nsecond", 1250000)
    text += row.format("launch__grid_size", "", 128)
    [profile] = read(tmp_path, text).profiles
    assert profile.name == "void sweep<float, 256>"
    assert profile.value("gpu__time_duration.sum") == 1250000
    assert profile.value("launch__grid_size") == 128
    assert profile.stream is None


def test_without_ids_kernels_are_told_by_their_names(tmp_path: Path) -> None:
    """A page whose column of IDs was dropped."""
    header = ("Process ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value")
    table = [("1", "a()", "Duration", "ns", "10"), ("1", "b()", "Duration", "ns", "20")]
    got = read(tmp_path, rows([header, *table])).profiles
    assert [(one.name, one.value("gpu__time_duration.sum")) for one in got] == [
        ("a()", 10.0),
        ("b()", 20.0),
    ]


@pytest.mark.parametrize("duration", ["2,848.50", "2.848,50", "2848"])
@pytest.mark.parametrize(
    ("text", "speedup"),
    [
        ("4.983", 4.983),  # of which other cells of the page might make thousands
        ("4,983", 4.983),
        ("100", 100.0),
        ("0", 0.0),
        ("150", None),
        ("-20", None),
        ("nan", None),
        ("1e999", None),
        ("", None),
    ],
)
def test_an_estimate_is_a_percentage(
    tmp_path: Path, duration: str, text: str, speedup: float | None
) -> None:
    """Its only mark begins decimals, and what is no part of a whole is none."""
    table = [
        (*LONG, *RULES),
        (*launched(), "Speed", "Duration", "ns", duration, "", "", "", "", ""),
        (*launched(), "Launch", "", "", "", "Tail", "OPT", "Well.", "global", text),
    ]
    [profile] = read(tmp_path, rows(table)).profiles
    assert [rule.speedup for rule in profile.rules] == [speedup]
