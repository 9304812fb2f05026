"""Outputs that the program exposes: kept without waiting for the GPU, read at the end."""

from __future__ import annotations

import ctypes
import hashlib
import math
import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tailwave.cures.hook.guard import Guard

# As many values of an output as are compared one by one, evenly picked.
MOST_VALUES = 4096
# A tensor of more bytes than this is kept as its picked values alone: a copy of it might not fit.
MOST_BYTES = 64 << 20


class _Kept(NamedTuple):
    """The last value of an output; ``shape`` is that of the whole, where parts were kept.

    ``dtype`` is the type of its numbers: "int" for whole ones of Python, "" for its others.
    """

    times: int
    shape: tuple[int, ...]
    dtype: str
    value: Any


class Outputs:
    """The outputs of a process by name: how often each was exposed, and its last value."""

    def __init__(self) -> None:
        """Start without an output; ``guard`` keeps the words of one that cannot be read."""
        self._kept: dict[str, _Kept] = {}
        self.guard = Guard()

    def __len__(self) -> int:
        """Return how many names there are."""
        return len(self._kept)

    def keep(self, name: str, value: object) -> None:
        """Copy a value aside; raises TypeError for what is no number, tensor, array or list."""
        times = self._kept[name].times + 1 if name in self._kept else 1
        self._kept[name] = _Kept(times, *_copy(value))

    def document(self, *, final: bool) -> dict[str, object]:
        """Give each output; before the end only those whose reading waits for no GPU."""
        found: dict[str, object] = {}
        for name, kept in self._kept.items():
            if final or not _is_on_gpu(kept.value):
                with Guard() as guard:  # the others can be compared all the same
                    found[name] = _described(kept)
                if guard.error:
                    self.guard.note(f"the output {name} cannot be compared: {guard.error}")
        return found


def picked(count: int) -> range | list[int]:
    """Return the places of the values that are compared: all, or MOST_VALUES evenly spread."""
    if count <= MOST_VALUES:
        return range(count)
    return [place * (count - 1) // (MOST_VALUES - 1) for place in range(MOST_VALUES)]


def _copy(value: Any) -> tuple[tuple[int, ...], str, object]:  # noqa: ANN401  whatever is exposed
    """Give the shape and type of a value, and a copy that the program cannot change any more."""
    if _is_tensor(value) or (hasattr(value, "shape") and hasattr(value, "copy")):
        copied = _copy_of_tensor(value) if _is_tensor(value) else _copy_of_array(value)
        return tuple(value.shape), str(getattr(value, "dtype", "")).rpartition(".")[2], copied
    numbers = list(_numbers(value))
    whole = all(isinstance(number, int) for number in numbers)
    shape = () if isinstance(value, int | float | complex) else (len(numbers),)
    return shape, "int" if whole and numbers else "", [float(number) for number in numbers]


def _copy_of_array(array: Any) -> object:  # noqa: ANN401  of numpy, CuPy, JAX
    if getattr(array, "nbytes", 0) <= MOST_BYTES:
        return array.copy()
    return array.reshape(-1)[picked(array.size)]


def _copy_of_tensor(tensor: Any) -> object:  # noqa: ANN401  torch's
    flat = tensor.detach().reshape(-1)
    if flat.numel() * flat.element_size() > MOST_BYTES:
        torch = sys.modules["torch"]
        count = flat.numel()
        places = torch.arange(MOST_VALUES, device=flat.device) * (count - 1) // (MOST_VALUES - 1)
        return flat[places]
    return flat.clone()


def _numbers(value: object) -> Iterator[float]:
    """Flatten numbers, and lists and dicts of them."""
    if isinstance(value, complex):
        yield from (value.real, value.imag)
    elif isinstance(value, int | float):
        yield value
    elif _is_tensor(value):
        raise TypeError("an output is one tensor: expose those of a list under a name each")
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _numbers(part)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for part in value:
            yield from _numbers(part)
    else:
        raise TypeError(f"an output is numbers, a tensor or an array, not a {type(value).__name__}")


def _is_tensor(value: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and hasattr(torch, "Tensor") and isinstance(value, torch.Tensor)


def _is_on_gpu(value: Any) -> bool:  # noqa: ANN401  a tensor, an array or a list
    return bool(getattr(value, "is_cuda", False)) or hasattr(value, "__cuda_array_interface__")


def _described(kept: _Kept) -> dict[str, object]:
    values, raw = _read(kept.value)
    return {
        "count": kept.times,
        # JSON has no words for nan and inf.
        "values": [value if math.isfinite(value) else str(value) for value in values],
        "shape": list(kept.shape),
        "dtype": kept.dtype,
        "sha256": hashlib.sha256(raw).hexdigest(),
    }


def _read(value: Any) -> tuple[list[float], bytes]:  # noqa: ANN401  a tensor, an array or a list
    """Give the picked values and the bytes of all that was kept."""
    if isinstance(value, list):
        return [value[i] for i in picked(len(value))], struct.pack(f"<{len(value)}d", *value)
    if _is_tensor(value):
        return _read_tensor(value)
    if hasattr(value, "__cuda_array_interface__") and hasattr(value, "get"):
        value = value.get()
    array = sys.modules["numpy"].asarray(value).reshape(-1)
    raw = bytes(array.tobytes())
    numbers = array.view(array.real.dtype) if array.dtype.kind == "c" else array
    return [float(numbers[i]) for i in picked(len(numbers))], raw


def _read_tensor(tensor: Any) -> tuple[list[float], bytes]:  # noqa: ANN401  torch's
    torch = sys.modules["torch"]
    host = tensor.cpu().resolve_conj().resolve_neg().contiguous()
    raw = ctypes.string_at(host.data_ptr(), host.numel() * host.element_size())
    numbers = torch.view_as_real(host).reshape(-1) if host.is_complex() else host
    places = torch.tensor(list(picked(numbers.numel())), dtype=torch.int64)
    return numbers[places].to(torch.float64).tolist(), raw
