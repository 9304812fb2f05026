"""Groups of SMs over a CUDA that is not there: what is asked, given, noted, refused and undone."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import tailwave
from tailwave.errors import UnavailableError, UsageError
from tests.cures.library.fakes import Cuda, Torch, installed


def test_one_number_is_one_group(cuda: Cuda) -> None:
    """It has what it asked for, and says how many SMs are in no group."""
    with tailwave.partition(sms=32) as group:
        assert (group.asked, group.sm_count, group.remaining, group.note) == (32, 32, 100, "")
        assert len(cuda.device.contexts) == 1
    assert cuda.log == ["sync", "stream closed", "context closed"]


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ([32, "rest"], [32, 100]),
        (["rest", 32], [100, 32]),
        ([8, "rest", 40], [8, 84, 40]),
        ([64, 64], [64, 64]),
    ],
)
def test_groups_come_in_the_order_asked(cuda: Cuda, asked: list[Any], given: list[int]) -> None:
    """All of one split, the rest where it was asked for."""
    with tailwave.partition(asked) as groups:
        assert [group.sm_count for group in groups] == given
        assert [group.asked for group in groups] == asked
        assert [group.remaining for group in groups] == [132 - sum(given)] * len(asked)
    assert all(context.closed for context in cuda.device.contexts)


def test_what_was_rounded_is_noted(cuda: Cuda) -> None:
    """Groups are multiples of 8 here; the rest has nothing to note."""
    del cuda
    with tailwave.partition([13, "rest"]) as (group, rest):
        assert group.note == (
            "13 SMs were asked for, and 16 given: groups are made of whole units."
        )
        assert (rest.sm_count, rest.note) == (116, "")


def test_another_partition_at_the_same_time_is_noted(cuda: Cuda) -> None:
    """Each call splits the whole GPU, so that SMs may be shared while both are open."""
    del cuda
    first = tailwave.partition(16)
    second = tailwave.partition(16)
    assert first.note == ""
    assert second.note == (
        "Another partition is open, and these may be its SMs too: "
        "ask for all groups in one call to keep them apart."
    )
    first.close()
    second.close()
    assert tailwave.partition(16).note == ""


@pytest.mark.parametrize("asked", [0, -8, True, [0], [8.5], ["all"], [None]])
def test_what_is_no_number_of_sms_is_refused(cuda: Cuda, asked: Any) -> None:  # noqa: ANN401
    """The sentence says what a group is."""
    del cuda
    with pytest.raises(UsageError, match="A group is a number of SMs above 0, or 'rest', not"):
        tailwave.partition(asked)


@pytest.mark.parametrize("asked", ["rest", ["rest"], [], [8, "rest", "rest"]])
def test_the_rest_is_one_of_several(cuda: Cuda, asked: Any) -> None:  # noqa: ANN401
    """A rest of nothing, or two of them, have no meaning."""
    del cuda
    with pytest.raises(UsageError, match="Say how many SMs each group has"):
        tailwave.partition(asked)


def test_too_many_are_refused(cuda: Cuda) -> None:
    """The sentence says how many there are, as rounded; nothing was made."""
    with pytest.raises(
        UnavailableError, match="Groups of 72, 72 SMs, as rounded, need more than the 132 there are"
    ):
        tailwave.partition([70, 70])
    assert (cuda.device.contexts, cuda.current) == ([], None)


def test_under_mig_too_many_says_why_there_are_so_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """An instance has its share of the SMs."""
    installed(monkeypatch, Cuda(sms=16), mig=True)
    with pytest.raises(UnavailableError, match=r"the 16 there are: ask for fewer\. The GPU is div"):
        tailwave.partition(24)


def test_a_rest_of_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the other groups have all SMs there is no group to give."""
    installed(monkeypatch, Cuda(sms=64))
    with pytest.raises(UnavailableError, match="Nothing is left for the 'rest'"):
        tailwave.partition([60, "rest"])


def test_an_old_driver_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence names the driver that it takes."""
    faults = {"resources": "CUDA_ERROR_NOT_SUPPORTED"}
    installed(monkeypatch, Cuda(faults=faults))
    with pytest.raises(UnavailableError, match=r"driver 550 \(CUDA 12.4\) or later"):
        tailwave.partition(32)


@pytest.mark.parametrize("step", ["create_context", "green stream"])
def test_a_fault_half_way_leaves_nothing(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """What was made before is undone, and the thread's context is the one from before."""
    cuda = installed(monkeypatch, Cuda(faults={step: "CUDA_ERROR_OUT_OF_MEMORY"}))
    cuda.current = "mine"
    with pytest.raises(UnavailableError, match="not enough free device memory"):
        tailwave.partition([32, "rest"])
    assert all(context.closed for context in cuda.device.contexts)
    assert cuda.current == "mine"


def test_a_fault_in_the_second_group_undoes_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition is whole or not at all."""
    cuda = installed(monkeypatch, Cuda())
    make = cuda.device.create_context

    def failing(options: Any) -> object:  # noqa: ANN401
        if cuda.device.contexts:
            cuda.faults["create_context"] = "CUDA_ERROR_OUT_OF_MEMORY"
        return make(options)

    monkeypatch.setattr(cuda.device, "create_context", failing)
    with pytest.raises(UnavailableError):
        tailwave.partition([32, 32])
    assert cuda.log == ["sync", "stream closed", "context closed"]


def test_an_exception_passes_and_all_is_undone(cuda: Cuda) -> None:
    """Also when waiting fails: the error from inside is not hidden."""

    def use() -> None:
        with tailwave.partition([32, "rest"]):
            cuda.faults["sync"] = "CUDA_ERROR_LAUNCH_FAILED"
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        use()
    assert cuda.log.count("context closed") == 2


def test_a_failure_of_closing_is_told(cuda: Cuda) -> None:
    """Without an error inside, that of closing passes, and all is undone all the same."""
    with (
        pytest.raises(UnavailableError, match="CUDA_ERROR_LAUNCH_FAILED"),
        tailwave.partition([32, "rest"]),
    ):
        cuda.faults["sync"] = "CUDA_ERROR_LAUNCH_FAILED"
    assert cuda.log.count("context closed") == 2


def test_prove_returns_the_sms_that_kernels_ran_on(cuda: Cuda) -> None:
    """Four CTAs for each SM, each of which fills one; the groups' sets are disjoint."""
    with tailwave.partition([32, "rest"]) as (group, rest):
        assert group.prove() == frozenset(range(32))
        assert (cuda.launched.gridDimX, cuda.launched.sharedMemBytes) == (128, 232_448 - 1024)
        assert rest.prove() == frozenset(range(32, 132))
    with pytest.raises(UsageError, match="closed"):
        group.prove()


def test_another_stream_of_a_group_has_its_sms(cuda: Cuda) -> None:
    """It may have a priority, and is closed by itself."""
    with tailwave.partition(32) as group, group.another_stream("high") as other:
        made = cuda.streams[other.handle]
        assert (made.sms, made.priority) == (range(32), -5)
        assert other.handle != group.handle
    assert cuda.log == ["sync", "stream closed", "sync", "stream closed", "context closed"]


def test_a_group_closes_in_another_thread(cuda: Cuda) -> None:
    """Closing makes the GPU's context current for itself, and takes it away again."""
    group = tailwave.partition(32)
    thread = threading.Thread(target=group.close)
    thread.start()
    thread.join()
    assert (group.closed, cuda.current) == (True, None)


def test_torchs_context_stays_current(torch: Torch) -> None:
    """The fixture looks at it after each test; here it is looked at inside too."""
    with tailwave.partition(32) as group, group.current():
        assert torch.now.cuda_stream == group.handle
