"""Warps that are run together, and what their cycles are taken for."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from tailwave.gpu.devices.base import DeviceFailedError, Launch
from tailwave.gpu.probes import run_probes
from tailwave.gpu.probes.issue import median_of_full
from tailwave.model import Measurement, Status
from tests.gpu.probes.fake import FakeDevice, write

CYCLES = 1 << 20


def measured(threads: int, launched: list[Launch] | None = None) -> list[Measurement]:
    """Run the probe on a device whose SMs hold so many threads; CTAs go to both SMs by turns."""

    def issue(launch: Launch) -> None:
        if launched is not None:
            launched.append(launch)
        write(launch, [w for cta in range(launch.grid) for w in (cta % 2, 0, CYCLES)])

    device = FakeDevice({"issue": issue})
    device.facts = msgspec.structs.replace(device.facts, max_threads_per_sm=threads)
    results = run_probes(device, quick=True, only=["issue"])
    return [result for result in results if isinstance(result, Measurement)]


@pytest.mark.parametrize(("threads", "unsupported"), [(2048, set()), (2047, {16}), (0, set())])
def test_warps_that_an_sm_does_not_hold_are_not_run(threads: int, unsupported: set[int]) -> None:
    """Sixteen warps of each of four schedulers are 2048 threads; 0 is a number not known."""
    refused = [m for m in measured(threads) if m.status is Status.UNSUPPORTED]
    assert {m.parameters["warps_per_scheduler"] for m in refused} == unsupported
    assert {m.reason for m in refused} <= {"An SM of this device does not hold 64 warps."}


def test_one_cta_fills_an_sm_until_it_takes_two() -> None:
    """Up to 32 warps are one CTA with all of an SM's shared memory; 64 are two that share it."""
    launched: list[Launch] = []
    measured(2048, launched)
    shapes = {(launch.grid, launch.block, launch.shared) for launch in launched}
    assert shapes == {(2, 32 * warps, -1) for warps in (2, 4, 8, 16, 32)} | {(4, 1024, 0)}


def test_slots_are_instructions_over_cycles() -> None:
    """Of 8 warps with 8192 instructions each, a scheduler issued one in 16 cycles."""
    wanted = {"kind": "dependent", "warps_per_scheduler": 8}
    found = {m.name: m.value for m in measured(2048) if m.parameters == wanted}
    assert found == {"issue.slots": 1 / 16, "issue.gap": 16.0}


def test_a_barrier_is_a_share_of_the_cycles() -> None:
    """512 of them were timed."""
    barriers = {m.value for m in measured(2048) if m.name == "issue.barrier"}
    assert barriers == {CYCLES / 512}


@pytest.mark.parametrize(
    ("sms", "ends"), [([0, 0, 1, 1, 1], [9, 9, 9, 9, 9]), ([0, 1, 2, 3, 4], [0, 9, 9, 9, 9])]
)
def test_without_an_sm_that_ran_just_so_many_there_is_no_figure(
    sms: list[int], ends: list[int]
) -> None:
    """An SM with fewer or more CTAs did other work; one of no cycles did none."""
    ctas = 4 if len(set(sms)) == 2 else 1
    with pytest.raises(DeviceFailedError, match="No SM ran the warps that were asked for"):
        median_of_full(np.array(sms), np.zeros(5, dtype=np.int64), np.array(ends), ctas)
