"""CuPy's arrays, as the comparison and the captures need them."""

from __future__ import annotations

from types import ModuleType

from tailwave.cures.library.capture.types import Array, Values


class CupyArrays:
    """Copies and compares CuPy arrays."""

    def __init__(self, cupy: ModuleType) -> None:
        """Keep CuPy, which the program has imported."""
        self.cupy = cupy

    def is_array(self, item: object) -> bool:
        """Tell whether something is a CuPy array."""
        return isinstance(item, self.cupy.ndarray)

    def type_name(self, array: Array) -> str:
        """Return the type of the elements, as "float32"."""
        return str(array.dtype)

    def same_bits(self, one: Array, other: Array) -> bool:
        """Tell whether two arrays hold the same bytes, NaN included."""
        return bool(self.on_host(one).tobytes() == self.on_host(other).tobytes())

    def on_host(self, array: Array) -> Values:
        """Return the values."""
        values: Values = self.cupy.asnumpy(array)
        return values

    def copy(self, array: Array) -> Array:
        """Return a copy with the same order of dimensions."""
        return array.copy(order="K")

    def like(self, array: Array, values: Values) -> Array:
        """Return an array laid out as another, with values of its own."""
        made = self.copy(array)
        made[...] = self.cupy.asarray(values)
        return made
