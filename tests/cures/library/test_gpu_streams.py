"""Streams, windows, managed memory and staging on a real GPU, with torch and CuPy."""

from __future__ import annotations

import gc
import importlib
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tailwave
from tailwave.cures.library import named
from tailwave.errors import UnavailableError, UsageError

pytestmark = pytest.mark.gpu

_MIB = 1 << 20


@pytest.fixture(scope="module")
def torch() -> Any:  # noqa: ANN401  it need not be installed
    """Import torch, with its context made."""
    module: Any = pytest.importorskip("torch")
    module.zeros(1, device="cuda")
    return module


@pytest.fixture(scope="module")
def cupy() -> Any:  # noqa: ANN401
    """Import CuPy."""
    module: Any = pytest.importorskip("cupy")
    module.zeros(1)
    return module


@pytest.fixture(scope="module")
def driver() -> Any:  # noqa: ANN401
    """Return the driver's functions."""
    return importlib.import_module("cuda.bindings.driver")


@pytest.fixture(autouse=True)
def _context_stays(torch: Any, driver: Any) -> Iterator[None]:  # noqa: ANN401
    """After each test this thread's context is the one from before: torch's."""
    torch.cuda.current_stream()
    _, before = driver.cuCtxGetCurrent()
    yield
    _, after = driver.cuCtxGetCurrent()
    assert int(after) == int(before) != 0


def test_groups_have_sms_of_their_own(torch: Any) -> None:  # noqa: ANN401
    """Each group's kernels run on as many SMs as it says, on none of another's, all together."""
    count = torch.cuda.get_device_properties(0).multi_processor_count
    with tailwave.partition([32, 64, "rest"]) as groups:
        seen = [group.prove() for group in groups]
        assert [len(sms) for sms in seen] == [group.sm_count for group in groups]
        assert [group.sm_count for group in groups] == [32, 64, count - 96]
        assert len(frozenset().union(*seen)) == count
        assert [group.note for group in groups] == ["", "", ""]
        assert [group.remaining for group in groups] == [0, 0, 0]


def test_a_size_is_rounded_and_says_so() -> None:
    """13 SMs are 16 on this GPU, and the kernel runs on 16."""
    with tailwave.partition(13) as group:
        assert (group.asked, group.sm_count, len(group.prove())) == (13, 16, 16)
        assert group.note == (
            "13 SMs were asked for, and 16 given: groups are made of whole units."
        )


def test_more_than_there_are_is_refused() -> None:
    """The sentence says how many there are."""
    with pytest.raises(UnavailableError, match=r"need more than the \d+ there are"):
        tailwave.partition([100, 100])


def test_a_second_partition_says_that_it_may_share(torch: Any) -> None:  # noqa: ANN401
    """While one is open another can be made and used, with a note; afterwards without."""
    with tailwave.partition(16) as one, tailwave.partition(16) as other:
        assert one.note == ""
        assert other.note.startswith("Another partition is open")
        for group in (one, other):
            with group.current():
                assert int(torch.ones(100, device="cuda").sum()) == 100
    with tailwave.partition(16) as group:
        assert group.note == ""


def sm_reader(torch: Any) -> Callable[[], frozenset[int]]:  # noqa: ANN401
    """Return a function that reads SM ids in torch's current stream, by a kernel not of ours."""
    triton = pytest.importorskip("triton")
    del triton
    smids = importlib.import_module("tests.cures.library.triton_smids")

    def read() -> frozenset[int]:
        out = torch.full((2048,), -1, dtype=torch.int64, device="cuda")
        smids.launch(out)
        return frozenset(out.tolist())

    return read


def test_torch_runs_in_the_current_group(torch: Any) -> None:  # noqa: ANN401
    """Inside `current` a kernel that torch's stream launches is on the group's SMs; after not."""
    read = sm_reader(torch)
    before = torch.cuda.current_stream()
    everywhere = read()
    with tailwave.partition([32, "rest"]) as (group, rest):
        with group.current():
            assert torch.cuda.current_stream().cuda_stream == group.handle
            inside = read()
        with rest.current():
            outside = read()
        assert inside <= group.prove()
        assert outside <= rest.prove()
        assert len(everywhere) > len(inside) > 16
    assert torch.cuda.current_stream() == before


def test_current_is_in_order_with_the_stream_around_it(torch: Any) -> None:  # noqa: ANN401
    """What was queued before is seen inside, and what is done inside is seen after, unwaited."""
    with tailwave.partition(32) as group:
        for _ in range(20):
            x = torch.zeros(8 * _MIB, device="cuda")
            torch.cuda._sleep(2_000_000)  # noqa: SLF001  torch's own, and only, long kernel
            x.fill_(1)
            with group.current():
                y = x * 2
                torch.cuda._sleep(2_000_000)  # noqa: SLF001
                y += 1
            assert float(y.min()) == float(y.max()) == 3


def test_cupy_runs_in_the_current_group(torch: Any, cupy: Any) -> None:  # noqa: ANN401
    """CuPy's current stream is the group's too, in order, and its own again after."""
    with tailwave.partition(32) as group:
        before = cupy.cuda.get_current_stream()
        x = cupy.arange(1 << 22)
        with group.current():
            assert cupy.cuda.get_current_stream().ptr == group.handle
            assert torch.cuda.current_stream().cuda_stream == group.handle
            y = x + 1
        assert int(y.sum()) == (1 << 22) * ((1 << 22) + 1) // 2
        assert cupy.cuda.get_current_stream() == before
        assert group.cupy().ptr == group.torch().cuda_stream == group.handle


def test_nothing_stays_after_an_exception(torch: Any) -> None:  # noqa: ANN401
    """The error passes, the streams are closed and current again as before; and many times over."""
    groups: list[Any] = []

    def use() -> None:
        with tailwave.partition([32, "rest"]) as (group, rest), rest.current():
            groups[:] = group, rest
            torch.ones(1000, device="cuda").sum()
            raise ValueError("mine")

    before = torch.cuda.current_stream()
    for _ in range(50):
        with pytest.raises(ValueError, match="mine"):
            use()
        assert torch.cuda.current_stream() == before
        assert all(group.closed for group in groups)
        with pytest.raises(UsageError, match="closed"):
            _ = groups[0].handle


# The device memory that the driver (580.159) keeps of a green context when that is destroyed, as
# seen with calls of the driver alone.
_KEPT_BY_DRIVER = 4 * _MIB


@pytest.mark.parametrize(
    ("make", "kept"),
    [
        (lambda: tailwave.partition(32), _KEPT_BY_DRIVER),
        (lambda: tailwave.priority("high"), 0),
    ],
)
def test_memory_comes_back(torch: Any, driver: Any, make: Callable[[], Any], kept: int) -> None:  # noqa: ANN401
    """Streams made, used and closed keep no device memory but what the driver itself does."""

    def use() -> None:
        with make() as stream, stream.current():
            torch.ones(1000, device="cuda").sum()
        gc.collect()
        torch.cuda.empty_cache()

    use()
    _, free, _ = driver.cuMemGetInfo()
    for _ in range(20):
        use()
    _, after, _ = driver.cuMemGetInfo()
    assert free - after <= 20 * kept


def test_worker_threads_may_use_it(torch: Any, driver: Any) -> None:  # noqa: ANN401
    """A thread that makes, uses and closes a partition has no context afterwards."""
    found: list[object] = []

    def work() -> None:
        group = tailwave.partition(16)
        found.append(len(group.prove()))
        group.close()
        found.append(int(driver.cuCtxGetCurrent()[1]))
        with tailwave.partition(16) as other, other.current():
            found.append(int(torch.ones(10, device="cuda").sum()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [16, 0, 10]


def test_a_group_made_here_may_be_closed_elsewhere() -> None:
    """Closing belongs to no thread."""
    group = tailwave.partition(16)
    thread = threading.Thread(target=group.close)
    thread.start()
    thread.join()
    assert group.closed


def test_a_priority_is_the_drivers(torch: Any, driver: Any) -> None:  # noqa: ANN401
    """The highest and the lowest of the driver's range, as the stream itself says."""
    _, least, greatest = driver.cuCtxGetStreamPriorityRange()
    with tailwave.priority("high") as high, tailwave.priority("low") as low:
        for stream, number in ((high, greatest), (low, least)):
            assert stream.priority == stream.torch().priority == number
            code, told = driver.cuStreamGetPriority(driver.CUstream(stream.handle))
            assert (int(code), told) == (0, number)
        with high.current():
            assert int(torch.ones(10, device="cuda").sum()) == 10


def test_an_l2_window_is_undone(torch: Any, driver: Any) -> None:  # noqa: ANN401
    """Its ratio fits what is set aside; limit and attribute return, nested and on an exception."""
    kind = driver.CUlimit.CU_LIMIT_PERSISTING_L2_CACHE_SIZE
    attribute = driver.CUstreamAttrID.CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW

    def limit() -> int:
        return int(driver.cuCtxGetLimit(kind)[1])

    def window(handle: int) -> tuple[int, float]:
        code, value = driver.cuStreamGetAttribute(driver.CUstream(handle), attribute)
        assert int(code) == 0
        return value.accessPolicyWindow.num_bytes, value.accessPolicyWindow.hitRatio

    before = limit()
    stream = torch.cuda.Stream()
    small, large = (torch.zeros(n * _MIB // 4, device="cuda") for n in (8, 256))
    with tailwave.l2_window(small, stream) as one:
        assert (one.nbytes, one.hit_ratio) == (8 * _MIB, 1.0)
        assert limit() >= 8 * _MIB
        assert window(stream.cuda_stream) == (8 * _MIB, 1.0)
        with tailwave.l2_window(large, stream) as other:
            assert other.nbytes * other.hit_ratio + one.nbytes <= limit() + 1
            assert 0 < other.hit_ratio < 1
        assert window(stream.cuda_stream)[0] == 8 * _MIB
        with torch.cuda.stream(stream):
            assert float(small.sum()) == 0
    assert (window(stream.cuda_stream)[0], limit()) == (0, before)
    with pytest.raises(ValueError, match="mine"), tailwave.l2_window(small):
        raise ValueError("mine")
    assert (window(0)[0], limit()) == (0, before)
    with tailwave.partition(32) as group, tailwave.l2_window(small, group):
        assert window(group.handle)[0] == 8 * _MIB


def test_the_policy_of_waiting_is_set_and_undone(driver: Any) -> None:  # noqa: ANN401
    """With torch's context alive, the flags hold the policy, and what they held before after."""
    flags = [int(driver.cuDevicePrimaryCtxGetState(0)[1])]
    for policy in ("spin", "yield", "block"):
        with tailwave.host_wait(policy):
            flags.append(int(driver.cuDevicePrimaryCtxGetState(0)[1]))
        assert int(driver.cuDevicePrimaryCtxGetState(0)[1]) == flags[0]
    assert [value & 7 for value in flags[1:]] == [1, 2, 4]
    assert {value & ~7 for value in flags} == {flags[0] & ~7}


@pytest.mark.parametrize("home", ["device", "host"])
@pytest.mark.parametrize("read_mostly", [False, True])
def test_managed_memory_is_used_from_both_sides(
    torch: Any,  # noqa: ANN401
    driver: Any,  # noqa: ANN401
    home: str,
    *,
    read_mostly: bool,
) -> None:
    """It reads on the GPU what was written there, moves when asked, and the advice is there."""
    attributes = driver.CUmem_range_attribute
    with tailwave.managed(16 * _MIB, home, read_mostly=read_mostly) as memory:

        def asked(name: str) -> int:
            kind = getattr(attributes, f"CU_MEM_RANGE_ATTRIBUTE_{name}")
            code, value = driver.cuMemRangeGetAttribute(4, kind, memory.ptr, memory.nbytes)
            assert int(code) == 0
            return int(value)

        assert asked("PREFERRED_LOCATION") == (0 if home == "device" else -1)
        assert asked("READ_MOSTLY") == int(read_mostly)
        data = torch.as_tensor(memory, device="cuda")
        data.fill_(3)
        for side, place in (("host", -1), ("device", 0)):
            memory.prefetch(side)
            torch.cuda.synchronize()
            assert asked("LAST_PREFETCH_LOCATION") == place
            assert int(data.sum(dtype=torch.int64)) == 3 * 16 * _MIB
    with pytest.raises(UsageError, match="closed"):
        memory.prefetch("host")


def test_too_much_managed_memory_is_refused() -> None:
    """Above 64 GiB nothing is taken, also not in two parts."""
    with pytest.raises(UnavailableError, match="managed memory beyond what"):
        tailwave.managed((64 << 30) + 1)
    with (
        tailwave.managed(_MIB),
        pytest.raises(UnavailableError, match="managed memory beyond what"),
    ):
        tailwave.managed(64 << 30)


def batches(torch: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401
    """Make batches of several forms and shapes; the loader writes over its memory each time."""
    generator = torch.Generator().manual_seed(7)
    image = torch.empty(64, 3, 64, 64).to(memory_format=torch.channels_last)
    for number in range(40):
        image.copy_(torch.randn(image.shape, generator=generator))
        words = torch.randint(0, 100, (number % 5, 17), generator=generator)
        half = torch.randn(31, generator=generator).bfloat16()
        yield {"image": image, "more": [words, (half, words.t())], "mask": words > 50, "n": number}


def test_staged_batches_equal_plain_copies(torch: Any) -> None:  # noqa: ANN401
    """Same values, strides and order as `.to('cuda')`, under a consumer that takes its time."""
    plain = [
        [x.to("cuda", copy=True) for x in (b["image"], b["more"][1][1], b["mask"])]
        for b in batches(torch)
    ]
    matrix = torch.randn(2048, 2048, device="cuda")
    sums: list[Any] = []
    for number, batch in enumerate(tailwave.staged(batches(torch), ahead=3)):
        assert batch["n"] == number
        for _ in range(4):
            matrix = torch.nn.functional.normalize(matrix @ matrix)
        sums.append([batch["image"].clone(), batch["more"][1][1].clone(), batch["mask"].clone()])
        assert batch["image"].is_contiguous(memory_format=torch.channels_last)
        assert batch["more"][1][0].dtype is torch.bfloat16
        del batch
    torch.cuda.synchronize()
    assert len(sums) == len(plain) == 40
    for one, other in zip(sums, plain, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_staged_arrays_become_cupys(cupy: Any) -> None:  # noqa: ANN401
    """Numpy's arrays arrive as CuPy's, equal and in order, though the loader reuses its memory."""
    source = np.empty((512, 1024), dtype=np.float32)

    def loader() -> Iterator[tuple[np.ndarray, str]]:
        for number in range(30):
            source[...] = number
            yield source, str(number)

    sums = []
    weight = cupy.ones((1024, 1024), dtype=np.float32)
    for array, name in tailwave.staged(loader()):
        assert isinstance(array, cupy.ndarray)
        sums.append((name, (array @ weight).max(), array.min()))
    assert [(n, float(a) / 1024, float(b)) for n, a, b in sums] == [
        (str(i), i, i) for i in range(30)
    ]


def test_staging_may_be_left(torch: Any) -> None:  # noqa: ANN401
    """Leaving the loop early, or by an exception, leaves nothing that spoils later work."""
    for _ in range(5):
        for batch in tailwave.staged(batches(torch)):
            assert batch["image"].is_cuda
            break
    gc.collect()
    torch.cuda.synchronize()


def test_named_streams_share_what_is_left(torch: Any) -> None:  # noqa: ANN401
    """In a program of its own: a name's stream has the SMs assigned, and others the rest."""
    program = """
import torch, tailwave
from tailwave.cures.library import named
named.assign("decoder", sms=32, priority="high")
one, other, third = (tailwave.stream(n) for n in ("decoder", "loader", "third"))
assert tailwave.stream("decoder") is one and len({one, other, third}) == 3
for s in (one, other, third):
    with torch.cuda.stream(s):
        assert int(torch.ones(1000, device="cuda").sum()) == 1000
g = named.given()
assert len(named.prove("decoder")) == 32 and named.prove("loader") == frozenset()
print([tuple(g[n]) for n in ("decoder", "loader", "third")], torch.cuda.Stream.priority_range())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    left = torch.cuda.get_device_properties(0).multi_processor_count - 32
    assert done.stdout.startswith(
        f"[(32, True, -5, ''), ({left}, False, 0, ''), ({left}, False, 0, '')]"
    )
    assert done.stderr == ""


def test_a_named_stream_is_plain_by_itself(torch: Any) -> None:  # noqa: ANN401
    """Without a plan it is a stream of torch on all SMs, made once."""
    stream = tailwave.stream("plain")
    assert tailwave.stream("plain") is stream
    assert isinstance(stream, torch.cuda.Stream)
    assert named.given()["plain"].sms is None
