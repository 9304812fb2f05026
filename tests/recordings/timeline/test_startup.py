"""What a program does once, told from what is merely slow."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from tailwave.model import Timeline
from tailwave.recordings.timeline.launches import NOT_RECORDED
from tailwave.recordings.timeline.startup import compiles, start_up
from tests.builders import PAGEABLE_HTOD, Trace, copy, kernel


def once(timeline: Timeline) -> list[str]:
    """Name the rows that are start-up."""
    codes = timeline.host.name[np.flatnonzero(start_up(timeline).rows)]
    return [timeline.names[code] for code in codes]


def until(timeline: Timeline) -> float | None:
    """Give the moment (us) at which the context stood."""
    found = start_up(timeline).until
    return None if found == NOT_RECORDED else found / 1e3


def context(call: str = "cudaFree", took: float = 200_000) -> Trace:
    """Begin a program with a context."""
    return Trace().call(call, 100, 100 + took).at(100 + took)


def launched(trace: Trace, *begins: float, took: float = 5, name: str = "k") -> Trace:
    """Launch a kernel at some moments."""
    for begin in begins:
        trace.launch(begin, begin + took, kernel(name, begin + took, begin + took + 2))
    return trace


@pytest.mark.parametrize("call", ["cudaFree", "cudaMalloc", "cudaDeviceGetStreamPriorityRange"])
def test_the_first_call_that_needs_a_context_makes_it(call: str) -> None:
    """Whichever it is: 0.2 s before there is any GPU work."""
    timeline = launched(context(call), 10, 20).build()
    assert until(timeline) == 200_100
    assert once(timeline) == [call]


def test_all_before_the_context_is_start_up_where_the_runtime_is_seen_to_begin() -> None:
    """Some calls that make a context are not recorded: it is there by the first that needs one."""
    trace = Trace().call("cuModuleGetLoadingMode", 0, 1).call("cudaGetDeviceProperties", 90, 95)
    trace.call("cudaMalloc", 400_000, 400_500)
    timeline = launched(trace, 400_600).build()
    assert until(timeline) == 400_500


@pytest.mark.parametrize(
    ("call", "took"),
    [
        ("cudaMalloc", 9_000),  # too short for a context
        ("cudaDeviceSynchronize", 200_000),  # it may wait for work before the recording
        ("cudaMemcpy", 200_000),
        ("cudaLaunchKernel", 200_000),
    ],
)
def test_a_recording_of_a_running_program_has_no_start(call: str, took: float) -> None:
    """A long first call may have waited for work that is not in the recording."""
    timeline = launched(context(call, took), 10, 20).launch(30, 9_000, call="cudaMemsetAsync")
    assert until(timeline.build()) is None
    assert once(timeline.build()) == []


def test_a_call_beside_gpu_work_makes_no_context() -> None:
    """Work that already runs has a context."""
    trace = Trace().unlaunched(kernel("before", 0, 50))
    assert until(launched(trace.call("cudaMalloc", 100, 200_000), 200_100).build()) is None


def test_the_first_launch_of_a_kernel_loads_it() -> None:
    """25 ms, where the other launches take 5 us."""
    trace = launched(context(), 10, took=25_000)
    timeline = launched(launched(trace, 26_000, 26_010, 26_020), 26_030, name="other").build()
    assert once(timeline) == ["cudaFree", "cudaLaunchKernel"]


def test_a_kernel_is_loaded_once() -> None:
    """Its later launches are held by something else, however long they take."""
    trace = launched(context(), 10, 20, 30, 40)
    timeline = launched(launched(trace, 50, took=25_000), 26_000).build()
    assert once(timeline) == ["cudaFree"]


def test_a_first_call_that_waits_for_the_gpu_is_no_start_up() -> None:
    """The GPU is at work all the time: a launch waits for the queue, a copy for its bytes."""
    trace = context().launch(10, 9_000, kernel("k", 12, 8_990))
    trace.launch(10_000, 19_000, copy(PAGEABLE_HTOD, 10_010, 18_990), call="cudaMemcpyAsync")
    assert once(launched(trace, 20_000, 20_010).build()) == ["cudaFree"]


def test_what_always_takes_long_is_no_start_up() -> None:
    """A call that takes as long later is what the program does."""
    trace = context()
    for number in range(3):
        trace.call("cudaHostAlloc", 10_000 * number + 10, 10_000 * number + 9_000)
    assert once(launched(trace, 40_000).build()) == ["cudaFree"]


def test_how_a_program_ends_is_no_start_up() -> None:
    """The first free may take long; nothing is launched after it."""
    trace = launched(context("cudaMalloc"), 10).call("cudaFree", 1_000, 100_000)
    assert once(trace.build()) == ["cudaMalloc"]


@pytest.mark.parametrize("call", ["cuModuleLoadData", "cuLibraryLoadData", "hipModuleLoad"])
def test_a_call_that_loads_code_is_start_up_at_any_time(call: str) -> None:
    """Its name says so."""
    assert once(launched(Trace(), 0, 10).call(call, 20, 30).build()) == [call]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("_compile.compile_inner (dynamo_timed)", True),
        ("torch/_dynamo/convert_frame.py(1100): __call__", True),
        ("torch/_inductor/compile_fx.py(550): compile_fx_inner", True),
        ("triton/compiler/compiler.py(230): compile", True),
        ("Lazy Function Loading", True),
        ("torch/_inductor/compile_fx.py(1000): run", False),
        ("triton/compiler/compiler.py(400): __getattribute__", False),
        ("Torch-Compiled Region: 0/0", False),
        ("re.py(250): compile", False),
    ],
)
def test_compilers_have_names(name: str, *, expected: bool) -> None:
    """What runs at each call of compiled code is not compilation."""
    assert compiles(name) == expected


def test_a_recording_without_a_host_has_no_start() -> None:
    """Nor does one whose calls all belong to other things."""
    empty = Trace().unlaunched(kernel("k", 0, 5)).build()
    assert until(empty) is None
    assert once(msgspec.structs.replace(empty, kind="nsys")) == []
