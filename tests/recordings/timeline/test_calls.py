"""What runtime calls do, by the names that CUDA, its driver and HIP give them."""

from __future__ import annotations

import pytest

from tailwave.recordings.timeline.calls import (
    Call,
    classify,
    classify_all,
    direction,
    is_migration,
    is_pageable,
    is_synchronous_copy,
    why_moved,
)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("cudaLaunchKernel", Call.LAUNCH),
        ("cudaLaunchKernelExC", Call.LAUNCH),
        ("cudaLaunchKernel_ptsz", Call.LAUNCH),
        ("cudaLaunchCooperativeKernel", Call.LAUNCH),
        ("cuLaunchKernel", Call.LAUNCH),
        ("cuLaunchKernelEx", Call.LAUNCH),
        ("cudaGraphLaunch", Call.LAUNCH),
        ("cuGraphLaunch", Call.LAUNCH),
        ("hipLaunchKernel", Call.LAUNCH),
        ("hipModuleLaunchKernel", Call.LAUNCH),
        ("hipExtModuleLaunchKernel", Call.LAUNCH),
        ("hipExtLaunchKernel", Call.LAUNCH),
        ("hipGraphLaunch", Call.LAUNCH),
        ("cudaMemcpy", Call.COPY),
        ("cudaMemcpyAsync", Call.COPY),
        ("cudaMemsetAsync", Call.COPY),
        ("cuMemcpyHtoDAsync_v2", Call.COPY),
        ("cuMemsetD8Async", Call.COPY),
        ("hipMemcpyWithStream", Call.COPY),
        ("cudaMemPrefetchAsync", Call.COPY),
        ("cuMemPrefetchAsync_v2", Call.COPY),
        ("hipMemPrefetchAsync", Call.COPY),
        ("cuModuleLoadDataEx", Call.LOAD),
        ("cuLibraryLoadData", Call.LOAD),
        ("cuLinkCreate_v2", Call.LOAD),
        ("hipModuleLoad", Call.LOAD),
        ("cudaDeviceSynchronize", Call.WAIT),
        ("cudaStreamSynchronize", Call.WAIT),
        ("block_until_ready", Call.WAIT),
        ("np.asarray(jax.Array)", Call.WAIT),
        ("cudaEventSynchronize", Call.WAIT),
        ("cuCtxSynchronize", Call.WAIT),
        ("hipDeviceSynchronize", Call.WAIT),
        ("hipStreamSynchronize", Call.WAIT),
        ("cudaMalloc", Call.ALLOCATE),
        ("cudaMallocManaged", Call.ALLOCATE),
        ("cudaFree", Call.ALLOCATE),
        ("cudaHostAlloc", Call.ALLOCATE),
        ("cudaHostRegister", Call.ALLOCATE),
        ("cuMemAlloc_v2", Call.ALLOCATE),
        ("cuMemHostAlloc", Call.ALLOCATE),
        ("hipMalloc", Call.ALLOCATE),
        ("cudaStreamWaitEvent", Call.STREAM_WAIT),
        ("cuStreamWaitEvent", Call.STREAM_WAIT),
        ("cuStreamWaitValue32", Call.STREAM_WAIT),
        ("hipStreamWaitEvent", Call.STREAM_WAIT),
        ("cudaEventRecord", Call.RECORD),
        ("cudaEventRecordWithFlags", Call.RECORD),
        ("hipEventRecord", Call.RECORD),
    ],
)
def test_a_call_is_known_by_its_name(name: str, call: Call) -> None:
    """Runtime, driver and HIP spell the same call alike, but for prefix and suffix."""
    assert classify(name) == call


@pytest.mark.parametrize(
    "name",
    [
        "cudaMallocAsync",
        "cudaMallocFromPoolAsync",
        "cudaFreeAsync",
        "cuMemAllocAsync",
        "cudaLaunchHostFunc",
        "cudaEventQuery",
        "cudaStreamIsCapturing",
        "cudaFuncSetAttribute",
        "cudaFuncGetAttributes",
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
        "cudaGraphInstantiate",
        "cuModuleGetLoadingMode",
        "cuModuleGetFunction",
        "cudaGetDevice",
        "myLaunchKernel",
        "aten::copy_",
        "",
    ],
)
def test_a_call_that_neither_holds_nor_issues_is_other(name: str) -> None:
    """Stream-ordered allocation, queries and attributes hold nobody and launch nothing."""
    assert classify(name) == Call.OTHER


def test_names_are_classified_by_code() -> None:
    """The column of calls is indexed by name code."""
    assert classify_all(("cudaFree", "x", "cuLaunchKernel")).tolist() == [
        Call.ALLOCATE,
        Call.OTHER,
        Call.LAUNCH,
    ]


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("Memcpy HtoD (Pageable -> Device)", "HtoD"),
        ("Memcpy DtoH (Device -> Pinned)", "DtoH"),
        ("Memcpy DtoD (Device -> Device)", "DtoD"),
        ("Memcpy PtoP (Device -> Device)", "PtoP"),
        ("CopyHostToDevice", "HtoD"),
        ("CopyDeviceToHost", "DtoH"),
        ("CopyDeviceToDevice", "DtoD"),
        ("Memset (Device)", ""),
    ],
)
def test_a_copy_says_its_direction(name: str, way: str) -> None:
    """CUPTI and ROCm name the direction of a copy in their own ways."""
    assert direction(name) == way


def test_a_copy_says_whether_it_is_pageable() -> None:
    """A copy with one side in ordinary memory says so; others do not."""
    assert is_pageable("Memcpy HtoD (Pageable -> Device)")
    assert not is_pageable("Memcpy HtoD (Pinned -> Device)")


@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("cudaMemcpy", True),
        ("cudaMemcpy2D", True),
        ("cuMemcpyDtoH_v2", True),
        ("hipMemcpy", True),
        ("hipMemcpyWithStream", True),
        ("cudaMemcpyAsync", False),
        ("cudaMemcpy2DAsync", False),
        ("cuMemcpyDtoHAsync_v2", False),
        ("hipMemcpyAsync", False),
        ("cudaMemcpyPeer", False),
        ("cudaMemset", False),
    ],
)
def test_a_copy_call_says_whether_it_waits(name: str, *, holds: bool) -> None:
    """A copy call without Async in its name returns when the copy is done, peers excepted."""
    assert is_synchronous_copy(name) == holds


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Memcpy HtoD (managed)", "touched"),
        ("Memcpy HtoD (managed, prefetched)", "prefetched"),
        ("Memcpy DtoH (managed, evicted)", "evicted"),
        ("GPU page faults (managed)", "touched"),
        ("Memcpy HtoD (Managed -> Device)", ""),
        ("foo(managed)", ""),
    ],
)
def test_why_pages_moved_is_in_a_copys_name(name: str, why: str) -> None:
    """A copy of managed memory that somebody asked for is a copy like others."""
    assert why_moved(name) == why
    assert is_migration(name) == (why != "")
