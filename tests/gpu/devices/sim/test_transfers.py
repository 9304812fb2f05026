"""What moves between host and device: copies, managed memory, and the memory there is."""

from __future__ import annotations

import numpy as np
import pytest

from tailwave.gpu.devices.base import LinkState, NotSupportedError
from tests.gpu.devices.sim.rig import CHIP, Rig

COPIES = CHIP.copies
NBYTES = 1 << 28
FIXED = COPIES.enqueue_ns + COPIES.latency_ns + CHIP.launch.sync_ns


@pytest.mark.parametrize(
    ("to_device", "pinned", "gbps"),
    [
        (True, True, COPIES.pinned_gbps),
        (False, True, COPIES.pinned_gbps),
        (True, False, COPIES.pageable_gbps),
        (False, False, COPIES.pageable_back_gbps),
    ],
)
def test_a_copy_goes_at_its_bandwidth(*, to_device: bool, pinned: bool, gbps: float) -> None:
    """Plus what any copy costs."""
    rig = Rig()
    time = rig.finished_ns(
        lambda: rig.device.copy(rig.stream, NBYTES, to_device=to_device, pinned=pinned)
    )
    assert time == pytest.approx(FIXED + NBYTES / gbps, rel=1e-3)


def test_only_pageable_copies_hold_the_host() -> None:
    """A pinned one returns when it is queued."""
    rig = Rig()

    def held(*, pinned: bool) -> int:
        return rig.host_ns(
            lambda: rig.device.copy(rig.stream, NBYTES, to_device=True, pinned=pinned)
        )

    assert held(pinned=True) == pytest.approx(COPIES.enqueue_ns, abs=1)
    assert held(pinned=False) > NBYTES / COPIES.pageable_gbps


def test_both_directions_share_the_link() -> None:
    """Each has its share of what it has alone."""
    rig = Rig()
    other = rig.device.stream()

    def both() -> None:
        rig.device.copy(rig.stream, NBYTES, to_device=True, pinned=True)
        rig.device.copy(other, NBYTES, to_device=False, pinned=True)

    expected = NBYTES / (COPIES.pinned_gbps * COPIES.both_share)
    assert rig.finished_ns(both) == pytest.approx(expected, rel=1e-2)


def test_what_remains_of_a_copy_goes_at_full_speed_again() -> None:
    """A short one the other way slows a long one only while it lasts."""
    rig = Rig()
    other = rig.device.stream()

    def both() -> None:
        rig.device.copy(rig.stream, NBYTES, to_device=True, pinned=True)
        rig.device.copy(other, NBYTES // 4, to_device=False, pinned=True)

    alone = NBYTES / COPIES.pinned_gbps
    together = NBYTES / 4 / (COPIES.pinned_gbps * COPIES.both_share)
    expected = together + alone - together * COPIES.both_share
    assert rig.finished_ns(both) == pytest.approx(expected, rel=1e-2)


def test_copies_of_one_direction_queue_up() -> None:
    """Two take twice as long as one."""
    rig = Rig()
    other = rig.device.stream()

    def both() -> None:
        rig.device.copy(rig.stream, NBYTES, to_device=True, pinned=True)
        rig.device.copy(other, NBYTES, to_device=True, pinned=True)

    assert rig.finished_ns(both) == pytest.approx(2 * NBYTES / COPIES.pinned_gbps, rel=1e-2)


def test_the_link_is_at_its_best() -> None:
    """Nothing is downshifted."""
    assert Rig().device.link() == LinkState(16, 5, 16, 5)


def test_pages_fault_in_by_groups() -> None:
    """Each group takes its time, and the bytes theirs; a second touch finds them there."""
    rig = Rig()
    managed = CHIP.managed
    nbytes = 1 << 24
    with rig.device.managed(nbytes) as memory:
        memory.touch_on_host()
        first = rig.finished_ns(lambda: memory.touch_on_device(rig.stream))
        second = rig.finished_ns(lambda: memory.touch_on_device(rig.stream))
    groups = nbytes / managed.fault_bytes / managed.faults_at_once
    expected = groups * managed.fault_ns + nbytes / COPIES.pinned_gbps
    assert first - second == pytest.approx(expected, rel=1e-3)


def test_a_prefetch_saves_the_faults() -> None:
    """It goes at its own rate, and leaves nothing to fault; asked for twice it moves nothing."""
    rig = Rig()
    nbytes = 1 << 24
    with rig.device.managed(nbytes) as memory:
        memory.touch_on_host()
        moved = rig.finished_ns(lambda: memory.prefetch(rig.stream, to_device=True))
        again = rig.finished_ns(lambda: memory.prefetch(rig.stream, to_device=True))
        touched = rig.finished_ns(lambda: memory.touch_on_device(rig.stream))
    assert moved - again == pytest.approx(nbytes / CHIP.managed.prefetch_gbps, rel=1e-3)
    assert touched < 20_000


def test_pages_come_back_to_the_host() -> None:
    """Then the device faults again, advised or not."""
    rig = Rig()
    with rig.device.managed(1 << 24) as memory:
        memory.advise_preferred_device()
        memory.touch_on_device(rig.stream)
        assert rig.host_ns(memory.touch_on_host) > 100_000
        assert rig.finished_ns(lambda: memory.touch_on_device(rig.stream)) > 100_000


def test_managed_memory_is_limited() -> None:
    """A probe needs little."""
    with pytest.raises(NotSupportedError, match="limited"):
        Rig().device.managed((64 << 20) + 1).__enter__()


def test_a_buffer_keeps_what_is_written() -> None:
    """It starts with zeroes, and the rest stays."""
    rig = Rig()
    buffer = rig.device.buffer(4)
    buffer.write(np.array([7, 8], dtype=np.uint64))
    assert buffer.read().tolist() == [7, 8, 0, 0]


def test_memory_is_taken_and_given_back() -> None:
    """Until there is not enough."""
    rig = Rig()
    free = rig.device.free_bytes()
    buffer = rig.device.buffer(1 << 30)
    assert free - rig.device.free_bytes() == 8 << 30
    with pytest.raises(NotSupportedError, match="are free"):
        rig.device.buffer(free // 8)
    buffer.free()
    assert rig.device.free_bytes() == free


def test_closing_lets_work_finish() -> None:
    """Nothing is cut off."""
    rig = Rig()
    out = rig.buffer(4)
    rig.run("stamp", 1, 32, out, 1000)
    rig.device.close()
    assert out.values.any()
