"""The CUDA backend on a real GPU: what the protocol and the kernels' contract promise holds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tailwave.gpu.devices import open_device
from tailwave.gpu.devices.base import (
    Buffer,
    Device,
    Feature,
    Launch,
    NotSupportedError,
    Stream,
    Words,
)

pytestmark = pytest.mark.gpu

_LINE_WORDS = 16
_MIB_WORDS = 1 << 17


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    """Open the first GPU."""
    opened = open_device("")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def stream(device: Device) -> Stream:
    """Make a stream."""
    return device.stream()


def run(device: Device, stream: Stream, launch: Launch, out: Buffer) -> Words:
    """Launch and return what was written."""
    device.launch(stream, launch)
    return out.read()


def mask_of(device: Device, *sms: int) -> Buffer:
    """Make a buffer that selects SMs."""
    words = np.zeros(device.facts.sm_count, dtype=np.uint64)
    words[list(sms)] = 1
    buffer = device.buffer(len(words))
    buffer.write(words)
    return buffer


def test_memory_is_zeroed_and_keeps_what_is_written(device: Device) -> None:
    """A new buffer reads 0, and what the host wrote it reads back."""
    buffer = device.buffer(1000)
    assert not buffer.read().any()
    values = np.arange(1000, dtype=np.uint64)
    buffer.write(values)
    assert (buffer.read() == values).all()
    buffer.free()


def test_too_much_memory_is_refused(device: Device) -> None:
    """More than there is is a refusal that says so, and the device lives on."""
    with pytest.raises(NotSupportedError, match="not enough free device memory"):
        device.buffer(1 << 40)
    assert device.buffer(1).read()[0] == 0


def test_one_cta_fills_an_sm(device: Device, stream: Stream) -> None:
    """With the most shared memory, as many CTAs as SMs are on as many SMs."""
    count = device.facts.sm_count
    out = device.buffer(4 * count)
    rows = run(device, stream, Launch("stamp", count, 32, (out, 20_000), -1), out).reshape(-1, 4)
    assert len(np.unique(rows[:, 0])) == count
    assert (rows[:, 3] >= 20_000).all()


def test_a_spin_lasts_as_long_as_it_was_told(device: Device, stream: Stream) -> None:
    """A spin ends a step of the timer after its time, and cycles over time is a clock."""
    out = device.buffer(4)
    _, start, end, cycles = map(int, run(device, stream, Launch("spin", 1, 32, (out, 10**6)), out))
    assert 0 <= end - start - 10**6 <= 2048
    assert 100 < cycles / (end - start) * 1000 < 4000


def test_a_graph_runs_all_its_nodes_in_order(device: Device, stream: Stream) -> None:
    """Nodes follow each other: each adds its pages to the same word."""
    data, out = device.buffer(4 * 512), device.buffer(1)
    graph = device.graph([Launch("touch", 1, 32, (out, data, data.words))] * 10)
    graph.launch(stream)
    assert (graph.nodes, int(out.read()[0])) == (10, 40)


@pytest.mark.parametrize("kernel", ["read", "write"])
@pytest.mark.parametrize("words", [_MIB_WORDS, _MIB_WORDS + 16 * 77])
def test_streams_move_all_of_the_data(
    device: Device, stream: Stream, kernel: str, words: int
) -> None:
    """Selected SMs report all bytes, at a rate that a memory system can have; others nothing."""
    data, out = device.buffer(words), device.buffer(4 * device.facts.sm_count)
    args = (out, data, words, 3, mask_of(device, 0, 2))
    launch = Launch(kernel, device.facts.sm_count, 1024, args, -1)
    rows = run(device, stream, launch, out).reshape(-1, 4).astype(np.int64)
    assert rows[[0, 2], 0].tolist() == [words * 8 * 3] * 2
    assert (rows[[0, 2], 0] / rows[[0, 2], 3] < 256).all()
    assert not rows[1].any()


def test_writes_reach_every_word(device: Device, stream: Stream) -> None:
    """The last pass's number is in the first of each two words."""
    words = _MIB_WORDS + 16 * 77
    data, out = device.buffer(words), device.buffer(4 * device.facts.sm_count)
    args = (out, data, words, 3, mask_of(device, 5))
    device.launch(stream, Launch("write", device.facts.sm_count, 1024, args, -1))
    assert (data.read()[::2] == 2).all()


def test_a_chase_takes_an_l2_latency(device: Device, stream: Stream) -> None:
    """Each line takes some hundred cycles, and only the SM asked for runs."""
    data, out = device.buffer(8 * _LINE_WORDS), device.buffer(8)
    launch = Launch("chase", device.facts.sm_count, 32, (out, data, 8, 32, 3), -1)
    cycles = run(device, stream, launch, out)
    assert ((cycles > 100) & (cycles < 1500)).all()


def test_atomics_lose_nothing(device: Device, stream: Stream) -> None:
    """What all threads added is in memory."""
    count = device.facts.sm_count
    data, out = device.buffer(count * 4), device.buffer(4 * count)
    args = (out, data, 32, 100, mask_of(device, *range(count)))
    rows = run(device, stream, Launch("atomics", count, 256, args, -1), out).reshape(-1, 4)
    assert rows[:, 0].tolist() == [256 * 100] * count
    assert data.read()[::4].tolist() == [256 * 100] * count


def test_a_partner_that_never_comes_is_given_up(device: Device, stream: Stream) -> None:
    """A ping-pong with an SM that there is not ends, and leaves its word as it was."""
    flag, out = device.buffer(32), device.buffer(1)
    args = (out, flag, 10, 0, 1_000_000)
    assert run(device, stream, Launch("pingpong", device.facts.sm_count, 32, args, -1), out)[0] == 0


def test_a_loaded_victim_counts_its_aggressors(device: Device, stream: Stream) -> None:
    """All samples are taken, all aggressors ran, and all end with the victim."""
    words, samples = 8 * _MIB_WORDS, 500
    data, out = device.buffer(words), device.buffer(samples + 1)
    roles = mask_of(device, 1, 2, 3)
    values = roles.read()
    values[0] = 2
    roles.write(values)
    launch = Launch("loaded", device.facts.sm_count, 1024, (out, data, words, samples, roles), -1)
    device.launch(stream, launch)
    device.synchronize(stream)
    start = device.clock_ns()
    found = run(device, stream, launch, out)
    assert device.clock_ns() - start < 50_000_000  # the aggressors' patience is twice that
    assert (found[:samples] > 0).all()
    assert found[samples] == 6  # three in each of two launches


def test_partitions_are_disjoint(device: Device) -> None:
    """Each stream's work stays on as many SMs as it says, and no two share one."""
    if Feature.PARTITION not in device.features:
        pytest.skip(device.why_not(Feature.PARTITION))
    with device.partition((32, 64)) as streams:
        seen = []
        for one in streams:
            out = device.buffer(4 * 2000)
            launch = Launch("stamp", 2000, 32, (out, 5000), -1)
            seen.append(set(run(device, one, launch, out)[::4].tolist()))
        assert [len(sms) for sms in seen] == [one.sm_count for one in streams]
    assert len(set().union(*seen)) == sum(map(len, seen)) == device.facts.sm_count


def test_a_partition_of_too_many_is_refused(device: Device) -> None:
    """Groups that need more SMs than there are say so."""
    with pytest.raises(NotSupportedError, match="need more than"), device.partition((100, 100)):
        pass


def test_clusters_stay_together(device: Device, stream: Stream) -> None:
    """Clusters of 16 run, and those that cannot be are refused."""
    if Feature.CLUSTERS not in device.features:
        pytest.skip(device.why_not(Feature.CLUSTERS))
    out = device.buffer(4 * 16)
    rows = run(device, stream, Launch("stamp", 16, 32, (out, 2000), -1, 16), out).reshape(-1, 4)
    assert len(np.unique(rows[:, 0])) == 16
    with pytest.raises(NotSupportedError, match="holds only whole ones"):
        device.launch(stream, Launch("stamp", 15, 32, (out, 2000), -1, 2))


def test_another_context_runs_work(device: Device) -> None:
    """A stream of a second context runs kernels; its memory comes back."""
    free = device.free_bytes()
    with device.create_context() as other:
        out = device.buffer(4)
        device.launch(other, Launch("spin", 1, 32, (out, 1000)))
        device.synchronize(other)
        assert out.read()[3] > 0
        assert device.free_bytes() < free
    assert device.buffer(1).read()[0] == 0


@pytest.mark.parametrize("to_device", [True, False])
@pytest.mark.parametrize("pinned", [True, False])
def test_copies_take_their_time(
    device: Device, stream: Stream, *, pinned: bool, to_device: bool
) -> None:
    """64 MiB at less than 1 TB/s: the copy was not skipped."""
    device.copy(stream, 64 << 20, to_device=to_device, pinned=pinned)
    device.synchronize(stream)
    start = device.clock_ns()
    device.copy(stream, 64 << 20, to_device=to_device, pinned=pinned)
    device.synchronize(stream)
    assert (64 << 20) / (device.clock_ns() - start) < 1000


def test_managed_memory_moves(device: Device, stream: Stream) -> None:
    """Touches, moves and advice go through; more than 64 MiB is refused."""
    if Feature.MANAGED not in device.features:
        pytest.skip(device.why_not(Feature.MANAGED))
    with device.managed(1 << 20) as memory:
        memory.touch_on_host()
        memory.prefetch(stream, to_device=True)
        memory.touch_on_device(stream)
        memory.advise_preferred_device()
        memory.prefetch(stream, to_device=False)
        device.synchronize(stream)
    with pytest.raises(NotSupportedError, match="limited to"), device.managed(65 << 20):
        pass


def test_priorities_out_of_range_are_brought_into_it(device: Device) -> None:
    """Any priority makes a stream that works."""
    for priority in (-1000, -1, 1000):
        device.synchronize(device.stream(priority=priority))
