"""Where arrays lie in memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tailwave.cures.library.spans import span_of
from tailwave.errors import UsageError


def on_gpu(array: np.ndarray[Any, Any]) -> SimpleNamespace:
    """Say of an array of numpy that it is on a GPU."""
    return SimpleNamespace(__cuda_array_interface__=array.__array_interface__)


def tensor(**changes: Any) -> SimpleNamespace:  # noqa: ANN401
    """Make a tensor of torch's, of 2 bytes an element."""
    has = {"is_cuda": True, "shape": (3, 4), "strides": (4, 1), **changes}
    return SimpleNamespace(
        is_cuda=has["is_cuda"],
        shape=has["shape"],
        data_ptr=lambda: 4096,
        stride=lambda: has["strides"],
        element_size=lambda: 2,
    )


def test_a_pair_is_an_address_and_bytes() -> None:
    """As it is."""
    assert span_of((4096, 100)) == (4096, 100)


@pytest.mark.parametrize(
    ("view", "offset", "nbytes"),
    [
        (np.s_[:, :], 0, 6 * 7 * 4),
        (np.s_[2:4, :], 2 * 28, 2 * 28),
        (np.s_[:, 3], 12, 5 * 28 + 4),
        (np.s_[::-1, :], 0, 6 * 28),
        (np.s_[2, 3], 2 * 28 + 12, 4),
    ],
)
def test_an_array_reaches_from_its_first_byte_to_its_last(
    view: Any,  # noqa: ANN401
    offset: int,
    nbytes: int,
) -> None:
    """Views with gaps and backward ones too."""
    base = np.zeros((6, 7), dtype=np.float32)
    part = np.asarray(base[view]) if isinstance(base[view], np.ndarray) else base[2:3, 3:4]
    assert span_of(on_gpu(part)) == (base.ctypes.data + offset, nbytes)


def test_a_tensor_is_asked_by_its_own_methods() -> None:
    """Torch refuses the interface for a tensor with a gradient."""
    assert span_of(tensor()) == (4096, 24)
    assert span_of(tensor(shape=(3, 4), strides=(1, 3))) == (4096, 24)
    assert span_of(tensor(shape=(3, 4), strides=(8, 1))) == (4096, 40)
    assert span_of(tensor(shape=(), strides=())) == (4096, 2)


def test_a_tensor_of_the_host_is_refused() -> None:
    """The sentence says to move it."""
    with pytest.raises(UsageError, match="not on a GPU: move it there first"):
        span_of(tensor(is_cuda=False))


@pytest.mark.parametrize("data", [None, "x", 5, np.zeros(3)])
def test_what_is_no_array_of_a_gpu_is_refused(data: object) -> None:
    """The sentence says what it takes."""
    with pytest.raises(UsageError, match="This takes a CUDA tensor or array"):
        span_of(data)


@pytest.mark.parametrize("data", [(0, 10), (4096, 0), (4096, -1), tensor(shape=(0, 4))])
def test_nothing_is_refused(data: object) -> None:
    """No bytes, or no address."""
    with pytest.raises(UsageError, match="There are no bytes there"):
        span_of(data)
