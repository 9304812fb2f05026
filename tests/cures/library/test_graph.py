"""Keys, buckets and falling back, over a captor that captures nothing."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from tailwave.cures.library.capture.tree import token
from tailwave.cures.library.graph import GraphedCallable, graph
from tailwave.errors import GraphRefusedError, UsageError


@dataclass
class FakeBucket:
    """Answers with the leaves it is run with."""

    agreement: str = "bitwise"
    unfit: str = ""
    closed: bool = False

    def why_not(self) -> str:
        """Say what the test has set."""
        return self.unfit

    def run(self, leaves: list[object]) -> object:
        """Mark the answer as a replay's."""
        return ("replay", *leaves)

    def close(self) -> None:
        """Note it."""
        self.closed = True


@dataclass
class FakeCaptor:
    """Captures what is not named in ``refused``; sets the mode that the test says."""

    refused: dict[object, Exception] = field(default_factory=dict)
    training: bool = True
    capturing: bool = False
    captured: list[FakeBucket] = field(default_factory=list)
    tries: int = 0
    closed: bool = False

    def describe(self, leaf: object) -> tuple[object, ...]:
        """Take the leaf as it is."""
        return token(leaf)

    def mode(self) -> dict[str, object]:
        """Return one mode."""
        return {"the mode": self.training}

    def is_capturing(self) -> bool:
        """Say what the test has set."""
        return self.capturing

    def capture(self, args: tuple[object, ...], kwargs: dict[str, object]) -> FakeBucket:
        """Capture, unless it is refused."""
        self.tries += 1
        if (args, *kwargs) and args and args[0] in self.refused:
            raise self.refused[args[0]]
        self.captured.append(FakeBucket())
        return self.captured[-1]

    def close(self) -> None:
        """Note it."""
        self.closed = True


def made(captor: FakeCaptor, first: object = 1, buckets: int = 8) -> GraphedCallable:
    """Return a callable with one graph, for one argument."""
    fast = GraphedCallable(lambda x: ("plain", x), captor, buckets)
    fast.add((first,), {})
    return fast


def test_a_known_key_replays() -> None:
    """A call like the example replays; it counts as one."""
    fast = made(FakeCaptor())
    assert fast(1) == ("replay", 1)
    assert (fast.replays, fast.plain_calls, fast.why_plain) == (1, 0, "")


def test_values_that_are_equal_but_of_another_type_are_other_keys() -> None:
    """1, 1.0 and True are three keys."""
    fast = made(FakeCaptor())
    assert [fast(value) for value in (1.0, True)] == [("plain", 1.0), ("plain", True)]


def test_a_new_key_is_plain_once_and_captured_the_second_time() -> None:
    """The first call with other arguments is plain, and the second replays."""
    fast = made(FakeCaptor())
    assert fast(2) == ("plain", 2)
    assert fast.why_plain == (
        "argument 0 has another shape, type or value; the second such call gets a graph of its own"
    )
    assert fast(2) == ("replay", 2)
    assert len(fast.graphs) == 2


def test_past_the_limit_calls_stay_plain() -> None:
    """With all buckets in use nothing is captured any more, and the reason says so."""
    captor = FakeCaptor()
    fast = made(captor, buckets=1)
    assert [fast(2), fast(2), fast(2)] == [("plain", 2)] * 3
    assert captor.tries == 1
    assert "all 1 buckets are in use" in fast.why_plain
    assert fast(1) == ("replay", 1)


@pytest.mark.parametrize(
    ("error", "why"),
    [(GraphRefusedError("it waits"), "it waits"), (RuntimeError(), "RuntimeError")],
)
def test_a_refusal_in_mid_run_is_remembered(error: Exception, why: str) -> None:
    """A bucket that cannot be captured is tried once, never raises, and stays plain."""
    captor = FakeCaptor(refused={2: error})
    fast = made(captor)
    assert [fast(2), fast(2), fast(2)] == [("plain", 2)] * 3
    assert captor.tries == 2
    assert fast.why_plain == why


def test_the_first_refusal_raises() -> None:
    """The example's own refusal is raised to whoever asked for the graph."""
    with pytest.raises(GraphRefusedError, match="it waits"):
        made(FakeCaptor(refused={1: GraphRefusedError("it waits")}))


def test_a_changed_mode_is_named() -> None:
    """A mode is part of the key, and named as what changed."""
    captor = FakeCaptor()
    fast = made(captor)
    captor.training = False
    assert fast(1) == ("plain", 1)
    assert fast.why_plain == "the mode changed; the second such call gets a graph of its own"


def test_another_nesting_is_named() -> None:
    """Arguments nested in another way are another key."""
    fast = made(FakeCaptor())
    assert fast([1]) == ("plain", [1])
    assert fast.why_plain.startswith("the arguments are nested in another way")


def test_a_bucket_that_does_not_fit_now_is_passed_over() -> None:
    """A bucket says why it cannot be replayed, and the call is plain."""
    captor = FakeCaptor()
    fast = made(captor)
    captor.captured[0].unfit = "a gradient is in the way"
    assert fast(1) == ("plain", 1)
    assert fast.why_plain == "a gradient is in the way"


def test_under_another_capture_calls_are_plain() -> None:
    """A graph is not launched into somebody else's capture."""
    captor = FakeCaptor()
    fast = made(captor)
    captor.capturing = True
    assert fast(1) == ("plain", 1)
    assert fast.why_plain == "the current stream is itself being captured"


def test_closing_frees_the_buckets_and_leaves_plain_calls() -> None:
    """After `with` the graphs are closed, and the callable still works."""
    captor = FakeCaptor()
    with made(captor) as fast:
        pass
    assert captor.closed
    assert captor.captured[0].closed
    assert fast(1) == ("plain", 1)
    assert fast.why_plain == "the graphs are closed"


def test_agreement_is_that_of_the_worst_described_bucket() -> None:
    """One bucket that is not bitwise is what agreement tells."""
    captor = FakeCaptor()
    fast = made(captor)
    assert fast.agreement == "bitwise"
    fast(2)
    fast(2)
    captor.captured[1].agreement = "within 1.0e-04 of the largest value of output 0"
    assert fast.agreement == "within 1.0e-04 of the largest value of output 0"


def test_without_a_library_there_is_nothing_to_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without torch, CuPy or a stream the call's words are off."""
    for name in ("torch", "cupy"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(UsageError, match="none of these libraries is imported"):
        graph(abs, 1)


def test_a_stream_must_be_cuda_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """stream= with anything else says what it takes."""
    monkeypatch.setitem(sys.modules, "cuda.core", SimpleNamespace(Stream=complex))
    with pytest.raises(UsageError, match=r"takes a cuda\.core\.Stream, not a int"):
        graph(abs, stream=3)


def test_there_must_be_a_bucket() -> None:
    """buckets=0 has no meaning."""
    with pytest.raises(UsageError, match="at least one"):
        graph(abs, buckets=0)


def test_under_hami_no_graph_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its launches would escape what HAMi counts."""
    monkeypatch.setenv("LD_PRELOAD", "/usr/local/vgpu/libvgpu.so")
    with pytest.raises(GraphRefusedError, match=r"HAMi .* escape its count"):
        graph(len)
