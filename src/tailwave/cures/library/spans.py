"""Where an array lies in device memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tailwave.errors import UsageError


class Span(NamedTuple):
    """Bytes of device memory."""

    address: int
    nbytes: int


def span_of(data: object) -> Span:
    """Return where a CUDA tensor or array lies, from its first byte to its last.

    Takes torch's tensors, whatever has ``__cuda_array_interface__``, and a pair of an address and a
    number of bytes. Raises UsageError for anything else.
    """
    if isinstance(data, tuple) and len(data) == 2:  # noqa: PLR2004  a pair
        return _checked(Span(*map(int, data)))
    if hasattr(data, "data_ptr"):  # before the interface, which a tensor with a gradient refuses
        return _checked(_of_tensor(data))
    interface = getattr(data, "__cuda_array_interface__", None)
    if isinstance(interface, Mapping):
        return _checked(_of_interface(interface))
    raise UsageError(
        "This takes a CUDA tensor or array, or a pair of an address and a number of bytes, not "
        f"{type(data).__name__}."
    )


def _of_tensor(tensor: Any) -> Span:  # noqa: ANN401  torch's
    if not tensor.is_cuda:
        raise UsageError("The tensor is not on a GPU: move it there first (`.to('cuda')`).")
    size = int(tensor.element_size())
    strides = [size * int(stride) for stride in tensor.stride()]
    return _around(int(tensor.data_ptr()), tensor.shape, strides, size)


def _of_interface(interface: Mapping[str, Any]) -> Span:
    shape, size = interface["shape"], int(interface["typestr"][2:])
    strides = interface.get("strides") or _dense(shape, size)
    return _around(int(interface["data"][0]), shape, strides, size)


def _dense(shape: Sequence[int], size: int) -> list[int]:
    """Return the strides (bytes) of an array without gaps, the last axis fastest."""
    strides = []
    for length in reversed(shape):
        strides.append(size)
        size *= length
    return strides[::-1]


def _around(address: int, shape: Sequence[int], strides: Sequence[int], size: int) -> Span:
    """Return the bytes from the first element in memory to the last."""
    if 0 in shape:
        return Span(address, 0)
    steps = [(length - 1) * stride for length, stride in zip(shape, strides, strict=True)]
    below = sum(step for step in steps if step < 0)
    return Span(address + below, sum(map(abs, steps)) + size)


def _checked(span: Span) -> Span:
    if span.address <= 0 or span.nbytes <= 0:
        raise UsageError(f"There are no bytes there: {span.nbytes} at address {span.address}.")
    return span
