"""What a program does once: it makes its context, loads code, compiles.

The driver makes a context in the first call that needs one, whichever that is (cudaFree(0) is
customary), and since CUDA 11.7 loads a kernel's code in its first launch (CUDA Programming Guide,
4.7 Lazy Loading). So start-up has no names of its own but for the calls that load modules, and is
known by three signs together: the call is the first of its kind, or takes memory; it takes
milliseconds where calls of its name usually take a tenth of that at most; and the GPU has nothing
to do meanwhile, so that the call waited for no work and copied nothing. They tell it from a call
that another thread held up only in a process that was seen to begin.
"""

from __future__ import annotations

import re

import msgspec
import numpy as np

from tailwave.model import Bytes, Flags, HostKind, Ints, Timeline
from tailwave.recordings.timeline.calls import Call, classify_all
from tailwave.recordings.timeline.intervals import covered, union
from tailwave.recordings.timeline.launches import NOT_RECORDED
from tailwave.recordings.timeline.stretched import lower_quartile

# A context takes 50 ms to seconds; the calls that need none take microseconds (ns).
_CONTEXT_NS = 10_000_000
# Loading a kernel's code takes a fraction of a millisecond to seconds (ns).
_FIRST_NS = 1_000_000
_FIRST_TIMES = 10.0
# The runtime asks for the mode of loading when it initialises, before there is a context.
_INITIALISES = re.compile(r"^(cuModuleGetLoadingMode|(cu|hip)Init)$")
# What compiles in a program: torch.compile marks its phases with record_function
# (torch._dynamo.utils.dynamo_timed); CUPTI says when the driver loads (CUpti_ActivityOverheadKind);
# the rest are Python frames of compilers, which run where their cache has nothing.
_COMPILES = re.compile(
    r"\(dynamo_timed\)$|^entire_frame_compile$|^backend_compile"
    r"|^(Lazy Function Loading|Runtime Triggered Module Loading)$"
    r"|torch/_dynamo/convert_frame\.py\(|torch/_inductor/compile_fx\.py\(\d+\): \w*compile"
    r"|triton/compiler/compiler\.py\(\d+\): compile$|cupy/cuda/compiler\.py\(\d+\): \w*compile"
    r"|torch/utils/cpp_extension\.py\(\d+\): load"
)


class StartUp(msgspec.Struct, frozen=True):
    """The start of a program as its host rows.

    ``rows`` tells which of them are start-up: calls, and scopes that compile. ``until`` is when
    the context stood (ns), before which nothing could be issued; NOT_RECORDED where the program
    began before the recording.
    """

    rows: Flags
    until: int


def compiles(name: str) -> bool:
    """Tell whether what has this name compiles or loads code for the GPU."""
    return _COMPILES.search(name) is not None


def start_up(timeline: Timeline) -> StartUp:
    """Find the context's creation, the loading of code and compilation."""
    host = timeline.host
    runtime = np.flatnonzero(host.kind == HostKind.RUNTIME)
    call = classify_all(timeline.names)[host.name[runtime]]
    idle = _idle(timeline, runtime)
    compiling = np.array([compiles(name) for name in timeline.names], dtype=bool)
    rows = compiling[host.name] & (host.kind != HostKind.RUNTIME)
    rows[runtime[call == Call.LOAD]] = True
    until = _context(timeline, runtime, call, idle)
    if until != NOT_RECORDED:
        rows[runtime[_first(timeline, runtime, call, idle)]] = True
    return StartUp(rows, until)


def _idle(timeline: Timeline, rows: Ints) -> Flags:
    """Tell in which host rows the GPUs were idle for half of the time."""
    host, gpu = timeline.host, timeline.gpu
    busy = union(gpu.start, gpu.end)
    start, end = host.start[rows], host.end[rows]
    at_work = covered(*busy, end) - covered(*busy, start)
    return np.asarray(2 * at_work <= end - start, dtype=bool)


def _context(timeline: Timeline, runtime: Ints, call: Bytes, idle: Flags) -> int:
    """When the context stood; NOT_RECORDED if that was before the recording."""
    host, gpu = timeline.host, timeline.gpu
    length = host.end[runtime] - host.start[runtime]
    needs = np.flatnonzero((call != Call.OTHER) | (length >= _CONTEXT_NS))
    if len(needs) == 0:
        return NOT_RECORDED
    first = int(needs[0])
    row = int(runtime[first])
    if gpu.start.min(initial=int(host.end[row])) < host.start[row]:
        return NOT_RECORDED
    begins = np.array([bool(_INITIALISES.match(name)) for name in timeline.names], dtype=bool)
    # Any other call may have waited for work that is not in the recording.
    makes = call[first] in (Call.OTHER, Call.ALLOCATE, Call.LOAD) and length[first] >= _CONTEXT_NS
    if not (makes or begins[host.name[runtime[:first]]].any()):
        return NOT_RECORDED
    return int(host.end[row] if idle[first] else host.start[row])


def _first(timeline: Timeline, runtime: Ints, call: Bytes, idle: Flags) -> Flags:
    """Tell which calls are long because they are the first of their kind."""
    host, gpu = timeline.host, timeline.gpu
    length = host.end[runtime] - host.start[runtime]
    launched = np.full(len(host), -1, dtype=np.int64)
    known = np.flatnonzero(gpu.launch >= 0)[::-1]
    launched[gpu.launch[known]] = gpu.name[known]
    kind = host.name[runtime] * np.int64(len(timeline.names) + 1) + launched[runtime] + 1
    first = np.zeros(len(runtime), dtype=bool)
    first[np.unique(kind, return_index=True)[1]] = True
    # Memory is taken from the driver as often as a pool grows.
    first |= call == Call.ALLOCATE
    name = np.unique(host.name[runtime], return_inverse=True)[1]
    alone = np.bincount(name)[name] == 1
    usual = lower_quartile(name, length)
    # What comes after the last launch is how the program ends.
    goes_on = runtime <= gpu.launch.max(initial=-1)
    return np.asarray(
        first
        & idle
        & goes_on
        & (call != Call.WAIT)
        & (length >= _FIRST_NS)
        & (alone | (length >= _FIRST_TIMES * usual)),
        dtype=bool,
    )
