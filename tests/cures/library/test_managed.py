"""Managed memory over a CUDA that is not there: bounds, advice, moves and giving back."""

from __future__ import annotations

import pytest

import tailwave
from tailwave.errors import UnavailableError, UsageError
from tests.cures.library.fakes import MIB, Cuda, Torch, installed

GIB = 1 << 30


@pytest.mark.parametrize(
    ("home", "mostly", "advice"),
    [
        ("device", False, ["home device 0"]),
        ("host", False, ["home host 0", "mapped device 0"]),
        ("device", True, ["home device 0", "mostly device 0"]),
    ],
)
def test_its_home_is_advised(cuda: Cuda, home: str, advice: list[str], *, mostly: bool) -> None:
    """Pages at home on the host stay mapped on the GPU; afterwards all is given back."""
    with tailwave.managed(MIB, home, read_mostly=mostly) as memory:
        assert cuda.log == [f"advise {MIB} {one}" for one in advice]
        assert memory.ptr == 1 << 20
        cuda.log.clear()
    assert cuda.log == ["sync", f"free {1 << 20}"]


def test_it_is_an_array_of_bytes(cuda: Cuda) -> None:
    """As torch and CuPy take it, until it is closed."""
    del cuda
    with tailwave.managed(100) as memory:
        assert memory.__cuda_array_interface__ == {
            "shape": (100,),
            "typestr": "|u1",
            "data": (1 << 20, False),
            "strides": None,
            "version": 3,
        }
    with pytest.raises(UsageError, match="This managed memory is closed"):
        _ = memory.ptr


def test_pages_move_in_the_order_of_a_stream(cuda: Cuda, torch: Torch) -> None:
    """The current one, or the one that is given; to the GPU or the host."""
    with tailwave.managed(MIB) as memory, tailwave.priority("high") as stream:
        cuda.log.clear()
        memory.prefetch("device")
        memory.prefetch("host", stream)
        assert cuda.log == [
            f"prefetch {MIB} device 0 (0, {torch.now.cuda_stream})",
            f"prefetch {MIB} host 0 (0, {stream.handle})",
        ]


def test_cuda_12_names_places_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host is -1 there, and there are no flags."""
    cuda = installed(monkeypatch, Cuda(driver=12080, toolkit="12.8.0"))
    with tailwave.managed(MIB, "host") as memory:
        memory.prefetch("device", 7)
    assert cuda.log[:3] == [
        f"advise {MIB} home -1",
        f"advise {MIB} mapped 0",
        f"prefetch {MIB} 0 (7,)",
    ]


def test_nine_tenths_of_what_is_free_can_be_had(cuda: Cuda) -> None:
    """More is refused, with the figures, before anything is taken."""
    cuda.free = 10 * GIB
    tailwave.managed(9 * GIB).close()
    with pytest.raises(UnavailableError, match=f"{9 * GIB} in all is the most here"):
        tailwave.managed(9 * GIB + 1)


def test_64_gib_is_the_most(cuda: Cuda) -> None:
    """However much is free, and together with what is open."""
    del cuda
    with pytest.raises(UnavailableError, match=f"{64 * GIB} in all"):
        tailwave.managed(64 * GIB + 1)
    with tailwave.managed(GIB), pytest.raises(UnavailableError, match=f"beside the {GIB} that"):
        tailwave.managed(64 * GIB)
    tailwave.managed(64 * GIB).close()


@pytest.mark.parametrize("nbytes", [0, -1, 1.5, True, "1"])
def test_what_is_no_size_is_refused(cuda: Cuda, nbytes: int) -> None:
    """The sentence gives what was passed."""
    del cuda
    with pytest.raises(UsageError, match="a number of bytes above 0, not"):
        tailwave.managed(nbytes)


def test_what_is_no_side_is_refused(cuda: Cuda) -> None:
    """For the home and for a move."""
    with pytest.raises(UsageError, match="'device' or the 'host', not 'gpu'"):
        tailwave.managed(1, "gpu")
    with tailwave.managed(1) as memory, pytest.raises(UsageError, match="not 'l2'"):
        memory.prefetch("l2")
    assert cuda.log[-1] == f"free {1 << 20}"


def test_a_gpu_that_does_not_move_pages_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is the feature's own sentence."""
    installed(monkeypatch, Cuda(changes={"concurrent_managed_access": False}))
    with pytest.raises(UnavailableError, match="does not move managed memory by page"):
        tailwave.managed(1)


def test_advice_that_is_refused_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory is given back, and counts no more."""
    cuda = installed(monkeypatch, Cuda(faults={"advise": "CUDA_ERROR_NOT_PERMITTED"}))
    with pytest.raises(UnavailableError, match="Advising on managed memory failed"):
        tailwave.managed(64 * GIB)
    assert cuda.log[-1] == f"free {1 << 20}"
    del cuda.faults["advise"]
    tailwave.managed(64 * GIB).close()


def test_memory_that_is_refused_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it can be had the next time."""
    cuda = installed(monkeypatch, Cuda(faults={"managed": "CUDA_ERROR_OUT_OF_MEMORY"}))
    with pytest.raises(UnavailableError, match="Taking managed memory failed"):
        tailwave.managed(64 * GIB)
    del cuda.faults["managed"]
    tailwave.managed(64 * GIB).close()


def test_an_exception_gives_it_back(cuda: Cuda) -> None:
    """And passes."""
    with pytest.raises(ValueError, match="mine"), tailwave.managed(1):
        raise ValueError("mine")
    assert cuda.log[-1] == f"free {1 << 20}"
