"""The Kineto reader against a plain reading of real recordings, and format by format."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwave.errors import UnreadableInputError
from tailwave.model import DeviceInfo, GpuKind, HostKind, Thread, Timeline
from tailwave.readers import kineto
from tailwave.readers.json_stream import BLOCK_BYTES
from tests.readers import naive_kineto as naive
from tests.readers.sample import EVENTS, Event, complete, kernel, launch, on_gpu, trace, write

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "tests" / "data" / "traces").glob("*.json.gz"))
PUBLIC = Path(os.environ.get("TAILWAVE_PUBLIC_DATA", ROOT.parent / "shared" / "data" / "public"))
TINY = 64  # bytes a block: less than an event


def read(path: Path, events: list[Event], block: int = BLOCK_BYTES) -> Timeline:
    """Write events as a trace and read it back."""
    return kineto.read_trace(write(path / "t.json", trace(events)), block_bytes=block)


def assert_as_naive(path: Path, block: int = BLOCK_BYTES) -> None:
    """Hold every column of a trace against the plain reading."""
    document = naive.load(path)
    timeline = kineto.read_trace(path, block_bytes=block)
    assert naive.rows_of(timeline) == naive.rows(document["traceEvents"])
    assert (timeline.recorded_from, timeline.recorded_to) == naive.window(document["traceEvents"])
    assert timeline.events == len(document["traceEvents"])
    assert timeline.notes == ()


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
@pytest.mark.parametrize("block", [BLOCK_BYTES, 4096])
def test_a_recording_is_read_as_a_plain_reading_does(path: Path, block: int) -> None:
    """Every value of every column is what the file says, however the blocks fall."""
    assert_as_naive(path, block)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_a_recording_names_its_device(path: Path) -> None:
    """The properties of the GPU are read from the file's head."""
    assert kineto.read_trace(path).devices == (
        DeviceInfo(
            index=0,
            name="NVIDIA H200",
            sm_count=132,
            compute_major=9,
            compute_minor=0,
            warp_size=32,
            max_threads_per_sm=2048,
            registers_per_sm=65536,
            shared_per_sm=233472,
            shared_per_block_optin=232448,
        ),
    )


@pytest.mark.parametrize("name", ["hta_control_a100.json.gz", "timesformer_h100.json.gz"])
def test_other_peoples_recordings_are_read_as_a_plain_reading_does(name: str) -> None:
    """Recordings of other machines and releases hold no surprise."""
    path = PUBLIC / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    assert_as_naive(path)


@pytest.mark.parametrize("block", [1, TINY, 200, 333, 1000, BLOCK_BYTES])
def test_the_size_of_a_block_does_not_matter(tmp_path: Path, block: int) -> None:
    """Blocks that cut events, keys and strings give what one block gives."""
    whole = read(tmp_path, EVENTS)
    cut = read(tmp_path, EVENTS, block)
    assert naive.rows_of(cut) == naive.rows_of(whole) == naive.rows(EVENTS)
    assert cut.threads == whole.threads
    assert cut.notes == ()


def test_a_thread_has_its_name(tmp_path: Path) -> None:
    """A thread_name event names the thread that it is shown on."""
    assert read(tmp_path, EVENTS).threads == (Thread("100", "7", "main"),)


def test_one_thread_written_as_number_and_as_text_is_one_thread(tmp_path: Path) -> None:
    """Process 1 and process "1" are the same."""
    events = [complete("cpu_op", "a", 1, 1) | {"pid": pid} for pid in (1, "1")]
    assert read(tmp_path, events).threads == (Thread("1", "7"),)


@pytest.mark.parametrize("block", [TINY, BLOCK_BYTES])
@pytest.mark.parametrize("last", [False, True])
def test_the_events_may_come_before_or_after_other_values(
    tmp_path: Path, block: int, *, last: bool
) -> None:
    """The order of the top-level keys does not matter; what is inside others is not mistaken."""
    others = {
        "decoy": {"traceEvents": [{"ph": "X"}], "text": '"traceEvents": ['},
        "deviceProperties": [{"id": 3, "name": "GPU", "numSms": "84", "warpSize": None}],
        "distributedInfo": {"rank": 5, "world_size": 8},
        "empty": [],
        "number": -1.5e3,
        "nothing": None,
    }
    events = {"traceEvents": EVENTS}
    path = write(tmp_path / "t.json", others | events if last else events | others)
    timeline = kineto.read_trace(path, block_bytes=block)
    assert naive.rows_of(timeline) == naive.rows(EVENTS)
    assert (timeline.rank, timeline.world_size) == (5, 8)
    assert timeline.devices == (DeviceInfo(index=3, name="GPU", sm_count=84),)
    assert timeline.notes == ()


def test_the_root_may_be_the_list_of_events(tmp_path: Path) -> None:
    """A trace can be a list of events and nothing else."""
    timeline = kineto.read_trace(write(tmp_path / "t.json", EVENTS))
    assert naive.rows_of(timeline) == naive.rows(EVENTS)


def test_gzip_is_known_by_its_content(tmp_path: Path) -> None:
    """A compressed trace without the suffix is read, and a plain one with it."""
    data = json.dumps(trace(EVENTS)).encode()
    packed = kineto.read_trace(write(tmp_path / "t.json", gzip.compress(data)))
    plain = kineto.read_trace(write(tmp_path / "u.json.gz", data))
    assert naive.rows_of(packed) == naive.rows_of(plain) == naive.rows(EVENTS)


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    """Editors of Windows put three bytes before the text."""
    path = write(tmp_path / "t.json", b"\xef\xbb\xbf" + json.dumps(trace(EVENTS)).encode())
    assert naive.rows_of(kineto.read_trace(path)) == naive.rows(EVENTS)


@pytest.mark.parametrize(
    ("ts", "nanoseconds"),
    [
        ("1661203462598738", 1661203462598738000),
        ("1661203462598738.125", 1661203462598738125),
        ("1661203462598738.001", 1661203462598738001),
        ("7213843205.937", 7213843205937),
        ("0.001", 1),
        ("-3.5", -3500),
        ('"12.5"', 12500),
        ('"1661203462598738.123"', 1661203462598738123),
    ],
)
def test_times_are_exact_to_the_nanosecond(tmp_path: Path, ts: str, nanoseconds: int) -> None:
    """Microseconds of any size, with decimals or without, as number or text, lose nothing."""
    text = json.dumps(trace([complete("cpu_op", "a", 1, 0.003)])).replace('"ts": 1', f'"ts": {ts}')
    timeline = kineto.read_trace(write(tmp_path / "t.json", text.encode()))
    assert timeline.host.start.tolist() == [nanoseconds]
    assert timeline.host.end.tolist() == [nanoseconds + 3]


def test_the_names_of_2021_are_known(tmp_path: Path) -> None:
    """Categories of the first releases, and of other spellings, are those of today."""
    cats = ["Operator", "Runtime", "Python", "USER_ANNOTATION", "xpu_runtime", "privateuse1_driver"]
    host = [complete(cat, cat, 1 + at, 1) for at, cat in enumerate(cats)]
    gpu = [on_gpu(cat, cat, 1 + at, 1) for at, cat in enumerate(["Kernel", "Memcpy", "Memset"])]
    timeline = read(tmp_path, host + gpu)
    runtime = HostKind.RUNTIME
    expected = [HostKind.OPERATOR, runtime, HostKind.PYTHON, HostKind.ANNOTATION, runtime, runtime]
    assert timeline.host.kind.tolist() == expected
    assert timeline.gpu.kind.tolist() == [GpuKind.KERNEL, GpuKind.MEMCPY, GpuKind.MEMSET]


def test_what_is_no_work_is_only_counted(tmp_path: Path) -> None:
    """Overhead, annotations seen from the GPU and unknown categories give no rows."""
    cats = ["overhead", "gpu_user_annotation", "fwdbwd", "mtia_insight"]
    events = [complete(cat, cat, 1, 1) for cat in cats]
    timeline = read(tmp_path, EVENTS + events)
    assert naive.rows_of(timeline) == naive.rows(EVENTS)
    assert timeline.events == len(EVENTS) + len(events)


def test_device_and_stream_come_from_the_row_where_arguments_lack_them(tmp_path: Path) -> None:
    """Old recorders name the device and the stream only by process and thread."""
    bare = complete("Kernel", "k", 1, 1) | {"pid": 2, "tid": "stream 13"}
    timeline = read(tmp_path, [bare])
    assert (timeline.gpu.device.tolist(), timeline.gpu.stream.tolist()) == ([2], [13])


def test_what_is_not_recorded_is_minus_one(tmp_path: Path) -> None:
    """A kernel without arguments has no figure that looks like one."""
    gpu = read(tmp_path, [complete("kernel", "k", 1, 1) | {"args": None}]).gpu
    unknown = ("correlation", "launch", "grid", "block", "registers", "shared", "bytes")
    assert [getattr(gpu, column).tolist() for column in unknown] == [[-1]] * len(unknown)


def test_a_graph_launch_has_many_kernels(tmp_path: Path) -> None:
    """The kernels of a CUDA graph share a launch, and keep their nodes."""
    kernels = [kernel(f"k{n}", 10 + n, 1, 4, **{"graph node id": n, "graph id": 1}) for n in (5, 6)]
    gpu = read(tmp_path, [launch(1, 2, 4, "cudaGraphLaunch"), *kernels]).gpu
    assert gpu.launch.tolist() == [0, 0]
    assert gpu.graph_node.tolist() == [5, 6]


@pytest.mark.parametrize("none", [-1, 4294967295, 18446744073709551615])
def test_a_wait_of_the_host_has_no_stream(tmp_path: Path, none: int) -> None:
    """Recorders write "no stream" in three ways."""
    wait = on_gpu("cuda_sync", "Context Sync", 1, 1, stream=none, wait_on_stream=none)
    waits = read(tmp_path, [*EVENTS, wait]).waits
    assert (waits.stream[0], waits.source_stream[0]) == (-1, -1)


def arrow(letter: str, cat: str, ident: int, at: Event) -> Event:
    """Make one end of an arrow, at the begin of an event."""
    return {"ph": letter, "cat": cat, "id": ident, "name": cat} | {
        key: at[key] for key in ("pid", "tid", "ts")
    }


@pytest.mark.parametrize("cat", ["ac2g", "async_cpu_to_gpu", "async"])
@pytest.mark.parametrize("name", ["hipLaunchKernel", "hipModuleLaunchKernel"])
def test_arrows_link_what_has_no_correlation(tmp_path: Path, cat: str, name: str) -> None:
    """On ROCm a kernel can be linked to its launch by an arrow only; its stream can be 0."""
    call = complete("cuda_runtime", name, 2.125, 3)
    work = on_gpu("kernel", "k", 9.5, 1, stream=0)
    other = complete("cuda_runtime", name, 1, 1)
    arrows = [arrow("s", cat, 8, call), arrow("f", cat, 8, work), arrow("s", "fwdbwd", 8, other)]
    gpu = read(tmp_path, [other, call, work, *arrows]).gpu
    assert (gpu.launch.tolist(), gpu.stream.tolist()) == ([1], [0])


def test_a_correlation_used_twice_means_the_call_before(tmp_path: Path) -> None:
    """Of several calls with one number, the last that began before the kernel launched it."""
    events = [launch(1, 1, 4), kernel("a", 3, 1, 4), launch(5, 1, 4), kernel("b", 7, 1, 4)]
    assert read(tmp_path, events).gpu.launch.tolist() == [0, 1]


def test_a_kernel_before_all_calls_of_its_number_takes_the_first(tmp_path: Path) -> None:
    """Clocks that disagree do not lose the link."""
    events = [kernel("a", 3, 1, 4), launch(5, 1, 4), launch(9, 1, 4)]
    assert read(tmp_path, events).gpu.launch.tolist() == [0]


def test_a_process_launches_on_its_own_device(tmp_path: Path) -> None:
    """Two processes count their calls alike; the kernel belongs to the one of its device."""
    mine = [launch(1, 1, 1), launch(3, 1, 2), kernel("a", 2, 1, 1), kernel("b", 10, 1, 2)]
    theirs = [launch(5, 1, 2) | {"pid": 200}, launch(6, 1, 3) | {"pid": 200}]
    other = [kernel("c", 11, 1, 2, device=1), kernel("d", 12, 1, 3, device=1)]
    timeline = read(tmp_path, mine + theirs + other)
    threads = [timeline.threads[code].pid for code in timeline.host.thread]
    assert [threads[row] for row in timeline.gpu.launch] == ["100", "100", "200", "200"]


@pytest.mark.parametrize("block", [TINY, BLOCK_BYTES])
def test_begin_and_end_make_one_event(tmp_path: Path, block: int) -> None:
    """Pairs nest within a thread; what has no partner is left out and counted."""
    outer, inner, alone = ({"ph": "B", "cat": "cpu_op", "pid": 1, "tid": 1} for _ in range(3))
    end = {"ph": "E", "pid": 1, "tid": 1}
    events = [
        outer | {"name": "outer", "ts": 1.5},
        inner | {"name": "inner", "ts": 2},
        end | {"ts": 3},
        {"ph": "E", "pid": 1, "tid": 2, "ts": 4},
        end | {"ts": "5.25"},
        alone | {"name": "alone", "ts": 6},
    ]
    timeline = read(tmp_path, events, block)
    host = timeline.host
    assert [timeline.names[code] for code in host.name] == ["outer", "inner"]
    assert (host.start.tolist(), host.end.tolist()) == ([1500, 2000], [5250, 3000])
    assert timeline.notes == (
        "1 event left out: begin without an end.",
        "1 event left out: end without a begin.",
    )


def bad(**changes: Any) -> bytes:  # noqa: ANN401 - any JSON, or a type that is turned to text
    """Write one event of an operator with changes."""
    return json.dumps(complete("cpu_op", "bad", 5, 1) | changes).encode()


BAD_EVENTS = {
    b'{"ph": "X", "name": "bad", "cat": "cpu_op", "ts": 5}': "duration missing or not a number",
    bad(dur=float("nan")): "duration missing or not a number",
    bad(dur=float("inf")): "duration missing or not a number",
    bad(dur="soon"): "duration missing or not a number",
    bad(dur=None): "duration missing or not a number",
    bad(dur=True): "duration missing or not a number",
    bad(dur=-1): "negative duration",
    bad(dur=2**63): "enormous time or duration",
    bad(dur=2e12): "enormous time or duration",
    bad(ts=1e300): "enormous time or duration",
    bad(ts=-(10**18)): "enormous time or duration",
    bad(ts=[1]): "start missing or not a number",
    bad(ts="1e999"): "start missing or not a number",
    bad(name=7): "name missing or not a string",
    b'{"ph": "X", "name": "bad", "dur": }': "not JSON",
    b'{"ph": "X" "name": "bad"}': "not JSON",
    b'{"name": "bad"}': "not an event, or of no phase (ph)",
    b"17": "not an event, or of no phase (ph)",
}


@pytest.mark.parametrize("block", [TINY, BLOCK_BYTES])
@pytest.mark.parametrize(("raw", "reason"), BAD_EVENTS.items(), ids=range(len(BAD_EVENTS)))
def test_a_bad_event_is_left_out_and_counted(
    tmp_path: Path, raw: bytes, reason: str, block: int
) -> None:
    """The events around a bad one are read, and a note says what is missing and why."""
    sound = [json.dumps(event).encode() for event in EVENTS]
    listed = b",".join([*sound[:3], raw, *sound[3:], raw])
    path = write(tmp_path / "t.json", b'{"traceEvents": [' + listed + b"]}")
    timeline = kineto.read_trace(path, block_bytes=block)
    assert naive.rows_of(timeline) == naive.rows(EVENTS)
    assert timeline.notes == (f"2 events left out: {reason}.",)


ODD_EVENTS = {
    "nested events": complete("cpu_op", "a", 5, 1, stack=[{"x": 1}, {"ph": "X"}, {"y": [{}, {}]}]),
    "brackets in text": complete("cpu_op", 'op "}, {" ]]', 5, 1),
    "numbers as text": complete("cpu_op", "a", 5, 1) | {"ts": "5", "dur": "1"},
    "ph last": {k: v for k, v in complete("cpu_op", "a", 5, 1).items() if k != "ph"} | {"ph": "X"},
    "text beyond ASCII": complete("cpu_op", "вес 重み \U0001f642", 5, 1),
    "odd arguments": complete("cpu_op", "a", 5, 1, correlation=None, grid="1", stream=[]),
    "null category of args": complete("cpu_op", "a", 5, 1) | {"args": None},
}


@pytest.mark.parametrize("block", [TINY, BLOCK_BYTES])
@pytest.mark.parametrize("odd", ODD_EVENTS.values(), ids=ODD_EVENTS)
def test_an_odd_but_sound_event_is_read(tmp_path: Path, odd: Event, block: int) -> None:
    """What other writers of JSON do, and what arguments hold, is no reason to lose an event."""
    timeline = read(tmp_path, [*EVENTS, odd, odd], block)
    names = [timeline.names[code] for code in timeline.host.name]
    assert names.count(odd["name"]) == 2
    assert len(names) == len(naive.rows(EVENTS)["host"]) + 2
    assert timeline.notes == ()


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (rb"C:\new\pile.py", r"C:\new\pile.py".replace("\\n", "\n")),
        (rb"D:\work\it.py", r"D:\work\it.py"),
        (b"op \xff\xfe", "op \ufffd\ufffd"),
        (b"two\nlines", "two\nlines"),
        (rb"half \ud83d", "half ?"),
    ],
)
def test_text_that_is_not_quite_json_is_mended(tmp_path: Path, raw: bytes, name: str) -> None:
    """Paths of Windows, bytes that are no UTF-8 and line ends in names lose no event."""
    text = json.dumps(trace([*EVENTS, complete("cpu_op", "NAME", 5, 1)])).encode()
    timeline = kineto.read_trace(write(tmp_path / "t.json", text.replace(b"NAME", raw)))
    assert name in timeline.names
    assert timeline.notes == ()


def test_an_unknown_phase_is_passed_over(tmp_path: Path) -> None:
    """Letters that no one has used yet do no harm."""
    timeline = read(tmp_path, [{"ph": "?", "ts": "x"}, *EVENTS, {"ph": "long"}])
    assert naive.rows_of(timeline) == naive.rows(EVENTS)
    assert timeline.notes == ()


def test_a_comma_too_many_does_no_harm(tmp_path: Path) -> None:
    """Some writers end a list with a comma."""
    text = json.dumps(trace(EVENTS)).encode()[:-2] + b", ]}"
    timeline = kineto.read_trace(write(tmp_path / "t.json", text))
    assert naive.rows_of(timeline) == naive.rows(EVENTS)
    assert timeline.notes == ()


@pytest.mark.parametrize("block", [TINY, BLOCK_BYTES])
def test_of_a_cut_file_all_whole_events_are_read(tmp_path: Path, block: int) -> None:
    """A note says that the file ends in mid-event, and how many events come before."""
    text = json.dumps(trace(EVENTS)).encode()
    cut = text[: text.index(b'"cudaStreamSynchronize"')]
    timeline = kineto.read_trace(write(tmp_path / "t.json", cut), block_bytes=block)
    assert naive.rows_of(timeline) == naive.rows(EVENTS[:7])
    assert timeline.notes == ("The file ends in mid-event; the 7 events before that were read.",)


# Names that no compression makes shorter.
MANY = EVENTS + [
    complete("cpu_op", hashlib.sha256(bytes([n])).hexdigest(), n, 1) for n in range(256)
]


def test_of_cut_compressed_data_all_whole_events_are_read(tmp_path: Path) -> None:
    """A recording whose copy was broken off is as good as its sound part."""
    packed = gzip.compress(json.dumps(trace(MANY)).encode(), mtime=0)
    timeline = kineto.read_trace(write(tmp_path / "t.json.gz", packed[: len(packed) // 2]))
    assert 100 < timeline.events < len(MANY)
    assert len(timeline.host) == len(naive.rows(MANY[: timeline.events])["host"])
    assert timeline.notes == (
        f"The file ends in mid-event; the {timeline.events} events before that were read.",
    )


def test_damaged_compressed_data_is_said_to_be_damaged(tmp_path: Path) -> None:
    """Flipped bits in compressed data stop the reading there."""
    packed = bytearray(gzip.compress(json.dumps(trace(MANY)).encode(), mtime=0))
    packed[-1000:-900] = bytes(100)
    timeline = kineto.read_trace(write(tmp_path / "t.json.gz", bytes(packed)), block_bytes=4096)
    assert any("The file is damaged" in note or "left out" in note for note in timeline.notes)


DEEP = 200_000
UNREADABLE = {
    "empty": (b"", "is empty"),
    "blank": (b" \n ", "is empty"),
    "text": (b"hello", "neither a JSON object nor a list"),
    "ncu CSV": (b'"ID","Process ID","Process Name"\n', "a CSV page of ncu"),
    "ncu output": (b"==PROF== Connected\n", "output of ncu"),
    "ncu report": (b"NVR\x00" + bytes(100), "a report of ncu"),
    "zip": (b"PK\x03\x04" + bytes(100), "a ZIP archive"),
    "UTF-16": ("\ufeff{}".encode("utf-16-le"), "UTF-16 text"),
    "no events": (b'{"schemaVersion": 1}', "JSON without a list of events"),
    "events null": (b'{"traceEvents": null}', "JSON without a list of events"),
    "events empty": (b'{"traceEvents": []}', "holds no usable event (0 read)"),
    "nothing usable": (b'{"traceEvents": [{"ph": "i"}]}', "holds no usable event (1 read)"),
    "only negative": (json.dumps([complete("cpu_op", "a", 1, -1)]).encode(), "no usable event"),
    "cut at once": (b'{"traceEvents": [{"ph": "X", "na', "ends in mid-event"),
    "cut in a key": (b'{"traceEv', "ends early"),
    "cut in a value": (b'{"a": {"b": [1, 2', "ends early"),
    "no key": (b"{17: 4}", "is damaged"),
    "gzip cut at once": (gzip.compress(b"x")[:10], "ends early"),
    "deep list": (b"[" * DEEP, "no usable event"),
    "deep events": (b'{"traceEvents": [' + b'{"a":' * DEEP, "no usable event"),
    "deep value": (b'{"deviceProperties": ' + b"[" * DEEP + b"]" * DEEP + b"}", "JSON without"),
}


@pytest.mark.parametrize(("data", "words"), UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize("block", [TINY, BLOCK_BYTES])
def test_unreadable_input_is_one_clear_error(
    tmp_path: Path, data: bytes, words: str, block: int
) -> None:
    """The error is one sentence that names the file and says what it is, or lacks."""
    path = write(tmp_path / "some.json", data)
    with pytest.raises(UnreadableInputError) as caught:
        kineto.read_trace(path, block_bytes=block)
    assert str(path) in str(caught.value)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_report_of_ncu_is_known_by_name(tmp_path: Path) -> None:
    """A report of Nsight Compute is said to be one."""
    path = write(tmp_path / "a.ncu-rep", b"\x01\x02\x03")
    with pytest.raises(UnreadableInputError, match="a report of ncu: give a trace"):
        kineto.read_trace(path)


DAMAGE = [b"{", b"}", b"[", b"]", b'"', b"\\", b"},{", b"}]", b"]}", b"\x00", b"\xff"]


@pytest.mark.parametrize("block", [TINY, BLOCK_BYTES])
@pytest.mark.parametrize("damage", DAMAGE, ids=repr)
def test_damage_costs_the_events_that_it_hits(tmp_path: Path, damage: bytes, block: int) -> None:
    """Wherever a stray bracket or quote is, of the others at most the next is lost."""
    events = [complete("cpu_op", f"op{{{n}}}", n, 1) for n in range(9)]
    text = json.dumps(trace(events)).encode()
    for at in range(text.index(b"op{3}"), text.index(b"op{4}")):
        path = write(tmp_path / "t.json", text[:at] + damage + text[at:])
        timeline = kineto.read_trace(path, block_bytes=block)
        names = [timeline.names[code] for code in timeline.host.name]
        assert {f"op{{{n}}}" for n in (0, 1, 2, 5, 6, 7, 8)} <= set(names)


def test_damage_that_looks_like_the_end_of_the_list_is_told(tmp_path: Path) -> None:
    """What cannot be told from sound JSON ends the reading, never without a note."""
    events = [complete("cpu_op", f"op{n}", n, 1) for n in range(9)]
    text = json.dumps(trace(events)).encode().replace(b"op3", b'op3"}], "')
    timeline = kineto.read_trace(write(tmp_path / "t.json", text))
    assert timeline.names[:3] == ("op0", "op1", "op2")
    assert timeline.notes[-1].startswith("The file ")


def test_separators_that_are_lost_do_no_harm(tmp_path: Path) -> None:
    """Events that no comma separates are told apart by their brackets."""
    text = json.dumps(trace(EVENTS)).encode().replace(b"}, {", b"} {")
    timeline = kineto.read_trace(write(tmp_path / "t.json", text))
    assert naive.rows_of(timeline) == naive.rows(EVENTS)


def test_events_after_a_damaged_head_are_read(tmp_path: Path) -> None:
    """Damage before the list of events costs the device's properties, and a note says so."""
    text = json.dumps(trace(EVENTS)).encode().replace(b'"schemaVersion": 1', b'"a": 1 2, b')
    timeline = kineto.read_trace(write(tmp_path / "t.json", text))
    assert naive.rows_of(timeline) == naive.rows(EVENTS)
    assert timeline.notes == ("The file is damaged in 1 place; the events after that were read.",)


@pytest.mark.parametrize("junk", [b"]", b'"', b"[", b"{", b"\\", b"},{", b'{"ph":', b"9", b" "])
def test_a_file_of_junk_comes_to_an_end(tmp_path: Path, junk: bytes) -> None:
    """No repetition makes the reader run on the spot."""
    path = write(tmp_path / "t.json", b'{"traceEvents": [' + junk * 5000)
    with pytest.raises(UnreadableInputError, match="no usable event"):
        kineto.read_trace(path, block_bytes=1000)


def test_progress_goes_from_start_to_end(tmp_path: Path) -> None:
    """Progress is told in bytes of the file on disk, and reaches its size."""
    path = write(tmp_path / "t.json.gz", gzip.compress(json.dumps(trace(EVENTS)).encode()))
    told: list[tuple[int, int]] = []
    kineto.read_trace(path, lambda done, total: told.append((done, total)), block_bytes=TINY)
    assert told == sorted(told)
    assert told[-1] == (path.stat().st_size, path.stat().st_size)


def test_memory_is_bounded(tmp_path: Path) -> None:
    """Reading ten times the events takes room for their rows, never for their text."""
    step = [event | {"ts": 10} for event in EVENTS[1:-1]]
    path = tmp_path / "t.json"
    filler = " " * 1000
    with path.open("w") as file:
        file.write('{"skipped": [' + '{"a": "b"},' * 100_000 + '0], "traceEvents": [')
        for _ in range(2000):
            file.write("".join(json.dumps(event) + filler + "," for event in step))
        file.write(json.dumps(EVENTS[-1]) + "]}")
    kineto.read_trace(write(tmp_path / "warm.json", trace(EVENTS)))
    tracemalloc.start()
    timeline = kineto.read_trace(path, block_bytes=1 << 16)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(timeline.host) == 2000 * len(naive.rows(EVENTS)["host"])
    assert peak < path.stat().st_size / 4


TIMES = st.integers(0, 10**9).map(lambda ns: ns / 1000)
NAMES = st.sampled_from(["aten::mm", "a", "", "}, {", '"', "\\", "é", "x\ny", "]}"])
ARGUMENTS = st.dictionaries(
    st.sampled_from(["Input Dims", "stack", "External id", "}, {"]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=5,
    ),
)
CORRELATIONS = st.integers(1, 6)


@st.composite
def drawn_event(draw: st.DrawFn) -> Event:
    """Draw any sound event."""
    kind = draw(st.sampled_from(["host", "call", "gpu", "wait", "other"]))
    name, ts, dur, more = draw(NAMES), draw(TIMES), draw(TIMES), draw(ARGUMENTS)
    if kind == "host":
        cat = draw(st.sampled_from(["cpu_op", "python_function", "user_annotation"]))
        return complete(cat, name, ts, dur, **more) | {"tid": draw(st.integers(1, 3))}
    if kind == "gpu":
        cat = draw(st.sampled_from(["kernel", "gpu_memcpy", "gpu_memset"]))
        sides = draw(st.lists(st.integers(1, 99), min_size=3, max_size=3))
        return on_gpu(cat, name, ts, dur, correlation=draw(CORRELATIONS), grid=sides, **more)
    if kind == "wait":
        stream = draw(st.sampled_from([7, *naive.NO_STREAM]))
        return on_gpu("cuda_sync", name, ts, dur, stream=stream, wait_on_stream=stream, **more)
    if kind == "call":
        return complete("cuda_runtime", name, ts, dur, **more)
    return {"ph": draw(st.sampled_from("ifsMCNO")), "ts": ts, "id": 4, "name": name, "args": more}


@st.composite
def drawn_text(draw: st.DrawFn) -> tuple[list[Event], bytes]:
    """Draw events and one of the ways to write them down."""
    events = draw(st.lists(drawn_event(), max_size=12))
    # Calls that share a correlation have tests of their own.
    for number, event in enumerate(e for e in events if e.get("cat") == "cuda_runtime"):
        event["args"]["correlation"] = number + 1
    events.append(EVENTS[-1])
    events.append(EVENTS[2])
    shuffled = [dict(draw(st.permutations(list(event.items())))) for event in events]
    others = {"deviceProperties": [], "note": draw(st.text()), "more": draw(ARGUMENTS)}
    members: list[tuple[str, Any]] = list(others.items())
    members.insert(draw(st.integers(0, len(members))), ("traceEvents", shuffled))
    indent = draw(st.sampled_from([None, 0, 1, 4]))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", "\r\n:")]))
    text = json.dumps(
        dict(members), indent=indent, separators=separators, ensure_ascii=draw(st.booleans())
    )
    return events, text.encode("utf-8", errors="replace")


@given(drawn=drawn_text(), block=st.integers(1, 600))
@settings(max_examples=150, deadline=None)
def test_any_sound_trace_is_read_as_a_plain_reading_does(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[list[Event], bytes], block: int
) -> None:
    """Whatever the white space, the order of keys and the blocks, the rows are the same."""
    events, text = drawn
    path = write(tmp_path_factory.getbasetemp() / "drawn.json", text)
    timeline = kineto.read_trace(path, block_bytes=block)
    assert naive.rows_of(timeline) == naive.rows(naive.load(path)["traceEvents"])
    assert timeline.events == len(events)
    assert timeline.notes == ()


SOUND = json.dumps(trace(EVENTS, deviceProperties=[{"id": 0, "numSms": 1}])).encode()


@given(data=st.data(), block=st.integers(1, 600), packed=st.booleans())
@settings(max_examples=300, deadline=None)
def test_a_damaged_trace_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, block: int, *, packed: bool
) -> None:
    """Whatever happens to a file, it is read as far as can be, or refused in one sentence."""
    damaged = bytearray(gzip.compress(SOUND, mtime=0) if packed else SOUND)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged)))
        to = data.draw(st.integers(at, min(at + 40, len(damaged))))
        damaged[at:to] = data.draw(st.binary(max_size=8) | st.sampled_from([b"}", b'"', b"},{"]))
    if data.draw(st.booleans()):
        del damaged[data.draw(st.integers(0, len(damaged))) :]
    path = write(tmp_path_factory.getbasetemp() / "damaged.json", bytes(damaged))
    with contextlib.suppress(UnreadableInputError):
        timeline = kineto.read_trace(path, block_bytes=block)
        assert len(timeline.host) + len(timeline.gpu) > 0
