"""Windows in L2 over a CUDA that is not there: what fits, what is set, and that it is undone."""

from __future__ import annotations

from typing import Any

import pytest

import tailwave
from tailwave.errors import UnavailableError, UsageError
from tests.cures.library.fakes import MIB, Cuda, Torch, installed

# L2 of this CUDA: 48 MiB at most can be set aside, and a window has 128 MiB at most.
SMALL = (1 << 20, 16 * MIB)
LARGE = (1 << 30, 96 * MIB)


def window_on(cuda: Cuda, stream: int) -> Any:  # noqa: ANN401
    """Return the window of a stream, None for none."""
    return cuda.windows[stream].accessPolicyWindow


def test_what_fits_is_kept_whole(cuda: Cuda) -> None:
    """All lines are to stay; on exit the window is off, its lines go, the limit is as before."""
    cuda.limit = 5
    with tailwave.l2_window(SMALL, 9) as window:
        assert (window.nbytes, window.hit_ratio, window.set_aside) == (16 * MIB, 1.0, 16 * MIB)
        assert cuda.limit == 16 * MIB
        assert vars(window_on(cuda, 9)) == {
            "base_ptr": 1 << 20,
            "num_bytes": 16 * MIB,
            "hitRatio": 1.0,
            "hitProp": "persisting",
            "missProp": "streaming",
        }
    assert (window_on(cuda, 9), cuda.limit, cuda.log) == (None, 5, ["lines reset"])
    window.close()
    assert cuda.log == ["lines reset"]


def test_of_what_does_not_fit_a_share_is_kept(cuda: Cuda) -> None:
    """Ratio times bytes is what is set aside; a window is as large as it may be."""
    with tailwave.l2_window(LARGE, 9) as window:
        assert (window.nbytes, window.hit_ratio, cuda.limit) == (96 * MIB, 0.5, 48 * MIB)
    with tailwave.l2_window((4096, 512 * MIB), 9) as window:
        assert (window.nbytes, window.hit_ratio) == (128 * MIB, 48 / 128)


def test_windows_share_what_can_be_set_aside(cuda: Cuda) -> None:
    """The second has what the first leaves, and the limit is for both."""
    with tailwave.l2_window(SMALL, 9) as one:
        with tailwave.l2_window(LARGE, 10) as other:
            assert (one.set_aside, other.set_aside, cuda.limit) == (16 * MIB, 32 * MIB, 48 * MIB)
            with pytest.raises(UsageError, match="Other windows have all of L2"):
                tailwave.l2_window(SMALL, 11)
        assert cuda.limit == 16 * MIB
    assert cuda.limit == 0


def test_nested_on_one_stream_the_outer_returns(cuda: Cuda) -> None:
    """A stream has one window at a time."""
    with tailwave.l2_window(SMALL, 9):
        with tailwave.l2_window((1 << 22, MIB), 9):
            assert window_on(cuda, 9).num_bytes == MIB
        assert window_on(cuda, 9).num_bytes == 16 * MIB


def test_without_a_stream_it_is_the_current_one(cuda: Cuda, torch: Torch) -> None:
    """Torch's, or a stream of ours made current."""
    with tailwave.priority("high") as stream, stream.current(), tailwave.l2_window(SMALL):
        assert window_on(cuda, stream.handle).num_bytes == 16 * MIB
    with tailwave.l2_window(SMALL, torch.now):
        assert window_on(cuda, 0).num_bytes == 16 * MIB


def test_an_exception_undoes_it(cuda: Cuda) -> None:
    """And passes."""
    with pytest.raises(ValueError, match="mine"), tailwave.l2_window(SMALL, 9):
        raise ValueError("mine")
    assert (window_on(cuda, 9), cuda.limit) == (None, 0)


def test_a_window_that_is_refused_leaves_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was set aside for it is given back."""
    cuda = installed(monkeypatch, Cuda(faults={"window": "CUDA_ERROR_NOT_PERMITTED"}))
    with pytest.raises(UnavailableError, match="Setting the stream's access window failed"):
        tailwave.l2_window(SMALL, 9)
    assert cuda.limit == 0
    del cuda.faults["window"]
    with tailwave.l2_window(SMALL, 9) as window:
        assert window.set_aside == 16 * MIB


def test_under_mps_the_refusal_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """There the limit is the server's."""
    installed(monkeypatch, Cuda(faults={"limit": "CUDA_ERROR_NOT_PERMITTED"}))
    with pytest.raises(UnavailableError, match="under MPS only its server may do"):
        tailwave.l2_window(SMALL, 9)


@pytest.mark.parametrize(("mig", "why"), [(True, "divided by MIG"), (False, "capability 8.0")])
def test_where_nothing_can_be_set_aside_it_says_why(
    monkeypatch: pytest.MonkeyPatch, *, mig: bool, why: str
) -> None:
    """MIG forbids it, and older GPUs have none."""
    cuda = installed(monkeypatch, Cuda(), mig=mig)
    cuda.attributes_of_device["persisting"] = 0
    with pytest.raises(UnavailableError, match=why):
        tailwave.l2_window(SMALL, 9)


def test_what_is_no_stream_is_refused(cuda: Cuda) -> None:
    """The sentence says what one is."""
    with pytest.raises(UsageError, match="A stream is one of torch, CuPy or tailwave"):
        tailwave.l2_window(SMALL, "default")
    assert cuda.limit == 0
