"""How many CTAs fit an SM; expected figures by hand from NVIDIA's compute capability tables."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tailwave.model import DeviceInfo
from tailwave.recordings.timeline.residency import ctas_per_sm, max_ctas_per_sm, residency
from tests.builders import H200, PINNED_HTOD, Trace, copy, kernel

KIB = 1024


def chip(major: int, minor: int, threads: int, shared_kib: int) -> DeviceInfo:
    """Describe a chip by the limits of its compute capability."""
    return DeviceInfo(
        index=0,
        sm_count=100,
        compute_major=major,
        compute_minor=minor,
        max_threads_per_sm=threads,
        registers_per_sm=65536,
        shared_per_sm=shared_kib * KIB,
    )


V100 = chip(7, 0, 2048, 96)
T4 = chip(7, 5, 1024, 64)
A100 = chip(8, 0, 2048, 164)
A40 = chip(8, 6, 1536, 100)
L40 = chip(8, 9, 1536, 100)
H100 = chip(9, 0, 2048, 228)
B200 = chip(10, 0, 2048, 228)
RTX_5090 = chip(12, 0, 1536, 100)


@pytest.mark.parametrize(
    ("device", "block", "registers", "shared", "ctas"),
    [
        # Bound by threads: threads of the SM over threads of the CTA.
        (V100, 256, 32, 0, 8),
        (T4, 256, 32, 0, 4),
        (A100, 256, 32, 0, 8),
        (A40, 256, 32, 0, 6),
        (L40, 256, 32, 0, 6),
        (H100, 256, 32, 0, 8),
        (B200, 256, 32, 0, 8),
        (RTX_5090, 256, 32, 0, 6),
        (A40, 1024, 32, 0, 1),
        # Bound by the chip's limit of CTAs.
        (V100, 32, 16, 0, 32),
        (T4, 32, 16, 0, 16),
        (A100, 32, 16, 0, 32),
        (A40, 32, 16, 0, 16),
        (L40, 32, 16, 0, 24),
        (H100, 32, 16, 0, 32),
        (B200, 32, 16, 0, 32),
        (RTX_5090, 32, 16, 0, 24),
        # Bound by registers: 65536 over what the warps are granted, in units of 256.
        (H100, 1024, 64, 0, 1),
        (H100, 1024, 32, 0, 2),
        (H100, 256, 64, 0, 4),
        (H100, 256, 255, 0, 1),
        (H100, 256, 128, 0, 2),
        (H100, 128, 168, 0, 3),
        (H100, 96, 80, 0, 6),  # three warps take the registers of four
        (H100, 256, 33, 0, 6),  # 33 registers take the room of 40
        # Bound by shared memory: from 8.0 on, 1 KiB more for each CTA.
        (H100, 256, 32, 100 * KIB, 2),
        (H100, 128, 32, 227 * KIB, 1),
        (H100, 128, 32, 113 * KIB, 2),
        (H100, 128, 32, 114 * KIB, 1),
        (A100, 128, 32, 48 * KIB, 3),
        (A40, 128, 32, 48 * KIB, 2),
        (L40, 128, 32, 32 * KIB, 3),
        (RTX_5090, 128, 32, 99 * KIB, 1),
        (V100, 128, 32, 48 * KIB, 2),
        (V100, 128, 32, 32 * KIB, 3),
        (T4, 128, 32, 32 * KIB, 2),
    ],
)
def test_residency_is_that_of_the_occupancy_tables(
    device: DeviceInfo, block: int, registers: int, shared: int, ctas: int
) -> None:
    """CTAs per SM are the least that threads, registers, shared memory and the chip allow."""
    found = ctas_per_sm(device, np.array([block]), np.array([registers]), np.array([shared]))
    assert found.tolist() == [ctas]


@pytest.mark.parametrize(
    ("block", "registers", "shared"), [(-1, 32, 0), (0, 32, 0), (256, -1, 0), (256, 32, -1)]
)
def test_an_unknown_field_leaves_residency_unknown(block: int, registers: int, shared: int) -> None:
    """What the recorder did not write is never taken for nothing."""
    found = ctas_per_sm(H100, np.array([block]), np.array([registers]), np.array([shared]))
    assert np.isnan(found).tolist() == [True]


def test_an_unknown_chip_leaves_residency_unknown() -> None:
    """Without the chip's limits nothing can be said."""
    found = ctas_per_sm(DeviceInfo(index=0), np.array([256]), np.array([32]), np.array([0]))
    assert np.isnan(found).tolist() == [True]


def test_a_kernel_that_ran_did_fit() -> None:
    """A CTA beyond what the tables allow counts as one per SM, for it was seen to run."""
    found = ctas_per_sm(H100, np.array([1024]), np.array([255]), np.array([300 * KIB]))
    assert found.tolist() == [1]


def test_unheard_of_chips_have_the_usual_limit() -> None:
    """A compute capability that the table lacks has 32 CTAs per SM, as most have."""
    assert max_ctas_per_sm(99, 0) == 32


def test_waves_are_the_grid_over_what_fits() -> None:
    """Eight CTAs fit each of 132 SMs: 1056 make a wave, 1057 begin a second one."""
    trace = Trace(devices=(H200,)).launch(0, 5, kernel("a", 6, 9, grid=1056))
    trace.launch(10, 15, kernel("b", 16, 19, grid=1057))
    trace.launch(20, 25, kernel("c", 26, 29, grid=-1), copy(PINNED_HTOD, 30, 31))
    found = residency(trace.build())
    assert found.ctas_per_sm.tolist()[:3] == [8, 8, 8]
    assert found.waves.tolist()[:2] == [1, 1057 / 1056]
    assert math.isnan(found.waves[2])
    assert math.isnan(found.ctas_per_sm[3])
