"""Torch's tensors, as the comparison and the captures need them."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from tailwave.cures.library.capture.types import Array, Values


class TorchArrays:
    """Copies and compares torch tensors."""

    def __init__(self, torch: ModuleType) -> None:
        """Keep torch, which the program has imported."""
        self.torch = torch

    def is_array(self, item: object) -> bool:
        """Tell whether something is a tensor."""
        return isinstance(item, self.torch.Tensor)

    def type_name(self, array: Array) -> str:
        """Return the type of the elements, as "float32"."""
        return str(array.dtype).removeprefix("torch.")

    def same_bits(self, one: Array, other: Array) -> bool:
        """Tell whether two tensors hold the same bytes, NaN included; one may be on the CPU."""
        if one.shape != other.shape or one.dtype != other.dtype:
            return False
        return bool(self.torch.equal(self._bytes(one), self._bytes(other.to(one.device))))

    def on_host(self, array: Array) -> Values:
        """Return the values; as float32 where numpy has no such type (bfloat16, 8-bit floats)."""
        plain = array.detach().cpu()
        known = {self.torch.float16, self.torch.float32, self.torch.float64}
        if plain.dtype.is_floating_point and plain.dtype not in known:
            plain = plain.float()
        values: Values = plain.resolve_conj().resolve_neg().numpy()
        return values

    def copy(self, array: Array) -> Array:
        """Return a copy that autograd knows, in inference mode too."""
        with self.torch.inference_mode(mode=False), self.torch.no_grad():
            return self.torch.empty_like(array, requires_grad=False).copy_(array)

    def like(self, array: Array, values: Values) -> Array:
        """Return a tensor laid out as another, with values of its own."""
        made = self.copy(array)
        with self.torch.no_grad():
            return made.copy_(self.torch.from_numpy(np.ascontiguousarray(values)).view(array.shape))

    def _bytes(self, array: Array) -> Array:
        """Return a tensor's bytes in one row."""
        return array.detach().contiguous().reshape(-1).view(self.torch.uint8)
