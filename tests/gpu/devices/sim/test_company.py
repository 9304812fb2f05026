"""What tenants do to each other: waiting, priority, partitions, contexts."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwave.gpu.devices.base import NotSupportedError, Stream
from tests.gpu.devices.sim.rig import CHIP, SMS, Rig

TENANT_CYCLES = 200_000
TENANT_NS = CHIP.ns(TENANT_CYCLES)
WAVES = 4


def _tenant(rig: Rig, stream: Stream, waves: int = WAVES) -> None:
    """Queue kernels of one wave that fill all SMs."""
    out = rig.buffer(waves * SMS)
    rig.run("hog", waves * SMS, 1024, out, TENANT_CYCLES, shared=-1, stream=stream)


def _victim_ns(rig: Rig, stream: Stream) -> int:
    """Return how long a small kernel takes, waited for."""

    def work() -> None:
        rig.run("stamp", 16, 32, rig.buffer(64), 1000, shared=-1, stream=stream)
        rig.device.synchronize(stream)

    return rig.host_ns(work)


def test_a_victim_waits_for_all_ctas_queued_before() -> None:
    """At equal priority the tenant's last wave goes first, and its ends make room."""
    rig = Rig()
    alone = _victim_ns(rig, rig.stream)
    _tenant(rig, rig.device.stream())
    assert _victim_ns(rig, rig.stream) - alone == pytest.approx(WAVES * TENANT_NS, rel=0.05)


def test_priority_goes_before_what_waits_but_not_before_what_runs() -> None:
    """The victim waits for the ends of the wave that runs."""
    rig = Rig()
    alone = _victim_ns(rig, rig.stream)
    _tenant(rig, rig.device.stream())
    first = rig.device.stream(priority=-1)
    assert _victim_ns(rig, first) - alone == pytest.approx(TENANT_NS, rel=0.1)


def test_a_partition_isolates() -> None:
    """In SMs of its own the victim takes as long as alone, but for its launch."""
    rig = Rig()
    alone = _victim_ns(rig, rig.stream)
    with rig.device.partition([32]) as (own, others):
        assert (own.sm_count, others.sm_count) == (32, 100)
        _tenant(rig, others)
        launching = CHIP.partition.launch_ns
        assert _victim_ns(rig, own) == pytest.approx(alone + launching, abs=100)


def test_work_in_a_partition_stays_there() -> None:
    """The SMs of two groups are disjoint, and together all."""
    rig = Rig()
    with rig.device.partition([40]) as streams:
        seen = []
        for stream in streams:
            out = rig.buffer(4 * SMS)
            rig.run("stamp", SMS, 32, out, 1000, shared=-1, stream=stream)
            seen.append({int(sm) for sm in out.read()[::4]})
    assert [len(sms) for sms in seen] == [40, 92]
    assert seen[0] | seen[1] == set(range(SMS))


@given(st.lists(st.integers(1, 64), min_size=1, max_size=16))
def test_groups_are_rounded_up_to_multiples_of_eight(asked: list[int]) -> None:
    """They are disjoint, at least what was asked for, and the last has what remains."""
    rounded = [-(-count // 8) * 8 for count in asked]
    if sum(rounded) > SMS:
        with pytest.raises(NotSupportedError, match="need more than 132"):
            CHIP.partition.group_sizes(SMS, asked)
    else:
        expected = [*rounded, SMS - sum(rounded)]
        assert CHIP.partition.group_sizes(SMS, asked) == expected


def test_fifteen_groups_of_eight_leave_twelve() -> None:
    """As measured."""
    assert CHIP.partition.group_sizes(SMS, [8] * 15) == [8] * 15 + [12]


def test_no_group_is_left_when_nothing_remains() -> None:
    """A chip of 128 SMs splits into two halves."""
    assert CHIP.partition.group_sizes(128, [64, 64]) == [64, 64]


def test_the_sms_are_split_once() -> None:
    """Two splits would overlap; after the first is left another may follow."""
    rig = Rig()
    with rig.device.partition([8]), pytest.raises(NotSupportedError, match="split already"):
        rig.device.partition([8]).__enter__()
    with rig.device.partition([8]) as streams:
        assert len(streams) == 2


def test_a_stream_of_a_partition_ends_with_it() -> None:
    """It must not be used again."""
    rig = Rig()
    with rig.device.partition([8]) as (own, _):
        pass
    with pytest.raises(ValueError, match="no longer"):
        rig.run("empty", 1, 32, stream=own)


def test_a_context_takes_time_and_memory() -> None:
    """Both as its parameters say, and the memory comes back."""
    rig = Rig()
    free = rig.device.free_bytes()
    context = rig.device.create_context()
    made = rig.host_ns(context.__enter__)
    assert made == pytest.approx(CHIP.contexts.create_ns, rel=1e-6)
    assert free - rig.device.free_bytes() == CHIP.contexts.bytes
    context.__exit__(None, None, None)
    assert rig.device.free_bytes() == free


def test_contexts_take_turns() -> None:
    """Work of another waits for the end of all that runs, and for the switch."""
    rig = Rig()
    with rig.device.create_context() as other:
        alone = rig.finished_ns(lambda: rig.run("empty", 1, 32))
        switched = rig.finished_ns(lambda: rig.run("empty", 1, 32, stream=other))
        again = rig.finished_ns(lambda: rig.run("empty", 1, 32, stream=other))
        assert switched - alone == pytest.approx(CHIP.contexts.switch_ns, abs=2)
        assert again == pytest.approx(alone, abs=2)
        rig.run("stamp", 1, 32, rig.buffer(4), TENANT_CYCLES)
        blocked = rig.finished_ns(lambda: rig.run("empty", 1, 32, stream=other))
        assert blocked > TENANT_NS + 2 * CHIP.contexts.switch_ns - 10_000


def test_no_context_without_memory() -> None:
    """It is refused, not overdrawn."""
    rig = Rig()
    rig.device.buffer(rig.device.free_bytes() // 8)
    with pytest.raises(NotSupportedError, match="no memory"):
        rig.device.create_context().__enter__()


def test_who_comes_first_does_not_change_what_is_done() -> None:
    """All CTAs of all streams run, each once, whatever meets."""
    rig = Rig(msgspec.structs.replace(CHIP, seed=7))
    outs = []
    for priority in (0, -1, 0):
        outs.append(rig.buffer(4 * 300))
        rig.run("stamp", 300, 256, outs[-1], 5000, stream=rig.device.stream(priority=priority))
    for out in outs:
        rows = out.read().reshape(300, 4)
        assert (rows[:, 2] > rows[:, 1]).all()
        assert np.unique(rows[:, 3]).tolist() == [5297]
