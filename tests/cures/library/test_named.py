"""Named streams: made once, plain by themselves, and as a plan has it under one."""

from __future__ import annotations

import pytest

import tailwave
from tailwave.cures.library import named
from tailwave.errors import UsageError
from tests.cures.library.fakes import Cuda, Torch


@pytest.fixture(autouse=True)
def _none_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named, "_NAMES", named.Names())


def test_a_name_has_one_stream(torch: Torch, cuda: Cuda) -> None:
    """The same for the same name, another for another; without a plan a plain one of torch."""
    del torch
    one, other = tailwave.stream("a"), tailwave.stream("b")
    assert tailwave.stream("a") is one
    assert one.cuda_stream != other.cuda_stream
    assert cuda.streams == {}
    assert named.given() == {"a": (None, False, 0, ""), "b": (None, False, 0, "")}


def test_a_gpu_has_its_own(monkeypatch: pytest.MonkeyPatch, torch: Torch) -> None:
    """The name's stream is one of the current GPU."""
    first = tailwave.stream("a")
    monkeypatch.setattr(torch.module.cuda, "current_device", lambda: 1)
    assert tailwave.stream("a") is not first


def test_a_name_with_sms_has_them_for_itself(torch: Torch, cuda: Cuda) -> None:
    """All others share the rest, each with a stream of its own."""
    del torch
    named.assign("decoder", sms=32)
    streams = {name: tailwave.stream(name) for name in ("loader", "decoder", "third")}
    sms = {name: cuda.streams[one.cuda_stream].sms for name, one in streams.items()}
    assert sms == {"decoder": range(32), "loader": range(32, 132), "third": range(32, 132)}
    assert len({one.cuda_stream for one in streams.values()}) == 3
    assert {name: one[:2] for name, one in named.given().items()} == {
        "loader": (100, False),
        "decoder": (32, True),
        "third": (100, False),
    }
    assert named.prove("decoder") == frozenset(range(32))
    assert named.prove("loader") == frozenset()


def test_several_names_are_split_at_once(torch: Torch, cuda: Cuda) -> None:
    """Disjoint, however they are asked for."""
    del torch
    named.assign("a", sms=32)
    named.assign("b", sms=64)
    assert cuda.streams[tailwave.stream("b").cuda_stream].sms == range(32, 96)
    assert cuda.streams[tailwave.stream("a").cuda_stream].sms == range(32)
    assert len(cuda.device.contexts) == 3


def test_a_priority_is_given_with_or_without_sms(torch: Torch, cuda: Cuda) -> None:
    """What is assigned twice adds up."""
    del torch
    named.assign("a", priority="high")
    named.assign("a", sms=32)
    named.assign("b", priority="high")
    a, b, c = (cuda.streams[tailwave.stream(name).cuda_stream] for name in "abc")
    assert (a.sms, a.priority) == (range(32), -5)
    assert (b.sms, b.priority) == (range(32, 132), -5)
    assert (c.sms, c.priority) == (range(32, 132), None)


def test_a_priority_alone_splits_nothing(torch: Torch, cuda: Cuda) -> None:
    """The name has a stream of that priority on all SMs, and others plain ones."""
    del torch
    named.assign("a", priority="high")
    made = cuda.streams[tailwave.stream("a").cuda_stream]
    tailwave.stream("b")
    assert (made.sms, made.priority) == (range(132), -5)
    assert (len(cuda.streams), cuda.device.contexts) == (1, [])
    assert named.given()["a"].sms is None


def test_a_plan_that_cannot_be_had_leaves_a_plain_stream(torch: Torch, cuda: Cuda) -> None:
    """The program runs on, and the reason is kept."""
    named.assign("a", sms=200)
    stream = tailwave.stream("a")
    assert (type(stream), cuda.streams) == (type(torch.now), {})
    assert "need more than the 132 there are" in named.given()["a"].why_not
    assert named.given()["a"].own is False


def test_a_plan_comes_before_the_first_stream(torch: Torch) -> None:
    """A stream that is in use cannot be given other SMs."""
    del torch
    tailwave.stream("a")
    with pytest.raises(UsageError, match=r"\['a'\] are there"):
        named.assign("b", sms=8)


def test_without_torch_it_is_refused(cuda: Cuda) -> None:
    """The sentence says to import it."""
    del cuda
    with pytest.raises(UsageError, match="import torch first"):
        tailwave.stream("a")
