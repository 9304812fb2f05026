"""Recordings at random, as odd as a reader could hand them on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from tailwave.model import DeviceInfo, Timeline
from tests.builders import (
    DTOD,
    H200,
    PAGEABLE_DTOH,
    PAGEABLE_HTOD,
    PINNED_HTOD,
    Trace,
    Work,
    copy,
    kernel,
)

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

LENGTH = 400
_CALLS = (
    "cudaLaunchKernel",
    "cudaGraphLaunch",
    "cudaMemcpyAsync",
    "cudaStreamSynchronize",
    "cudaMalloc",
    "cudaStreamWaitEvent",
    "hipModuleLaunchKernel",
)
_OPERATORS = ("aten::mm", "aten::item", "aten::copy_")
_ANNOTATIONS = ("step", "iter 1", "iter 2", "enumerate(DataLoader)#x", "Optimizer.step#SGD.step")
_THREADS = (("a", "1"), ("b", "1"), ("a", "2"))

begins = st.integers(0, LENGTH)
# Many events of no length, as recorders in whole microseconds write them.
lengths = st.just(0) | st.integers(0, 80)
unknown_or = st.just(-1) | st.just(0)


@st.composite
def work(draw: DrawFn, called: int) -> Work:
    """Draw a kernel or copy that begins near its launch, at times before it."""
    begin = called + draw(st.integers(-5, 60))
    end = begin + draw(lengths)
    stream, device = draw(st.sampled_from((7, 7, 13, -1))), draw(st.sampled_from((0, 0, 0, 1)))
    if draw(st.booleans()):
        return kernel(
            draw(st.sampled_from(("gemm", "relu", "ncclDevKernel_AllReduce"))),
            begin,
            end,
            stream=stream,
            device=device,
            grid=draw(unknown_or | st.integers(1, 2000)),
            block=draw(unknown_or | st.integers(1, 1024)),
            registers=draw(unknown_or | st.integers(1, 255)),
            shared=draw(unknown_or | st.integers(0, 300_000)),
        )
    name = draw(
        st.sampled_from((PAGEABLE_HTOD, PINNED_HTOD, PAGEABLE_DTOH, DTOD, "CopyHostToDevice"))
    )
    size = draw(unknown_or | st.integers(1, 1 << 24))
    return copy(name, begin, end, stream=stream, device=device, size=size)


@st.composite
def recordings(draw: DrawFn) -> Timeline:
    """Draw a recording of some hundred microseconds, or milliseconds."""
    devices = draw(st.sampled_from(((H200,), (), (H200, DeviceInfo(index=1)))))
    trace = Trace(devices=devices, recorded=draw(st.sampled_from(((0, 0), (0, LENGTH)))))
    trace.at(draw(st.sampled_from((0, -500, 10**6))))
    for _ in range(draw(st.integers(0, 20))):
        trace.thread(*draw(st.sampled_from(_THREADS)))
        begin = draw(begins)
        end = begin + draw(lengths)
        match draw(st.integers(0, 5)):
            case 0:
                trace.op(draw(st.sampled_from(_OPERATORS)), begin, end)
            case 1:
                trace.annotation(draw(st.sampled_from(_ANNOTATIONS)), begin, end)
            case 2:
                trace.call(draw(st.sampled_from(_CALLS)), begin, end)
            case 3:
                trace.unlaunched(draw(work(begin)))
            case _:
                issued = draw(st.lists(work(begin), max_size=3))
                trace.launch(begin, end, *issued, call=draw(st.sampled_from(_CALLS)))
    trace.thread("a", "1")
    count = draw(st.integers(0, 4))
    for number in range(count):
        length = LENGTH // count
        trace.step(number * length, (number + 1) * length, number)
    return trace.build()
