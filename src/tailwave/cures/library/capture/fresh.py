"""Makes new values for a callable's arguments, like the ones given and safe to run on."""

from __future__ import annotations

import numpy as np

from tailwave.cures.library.capture.agree import Arrays
from tailwave.cures.library.capture.types import Foreign, Values

_FEW = 2  # with fewer elements there is no spread to copy


def fresh(values: Values, generator: np.random.Generator) -> Values:
    """Return other values of the same shape and type.

    Real and complex numbers: noise of like mean and spread, kept within the range seen, because
    a value outside of it (a probability above 1) may stop the GPU for the whole process. Arrays
    that hold infinities or NaN (masks) are permuted. Whole numbers are permuted along their last
    dimension, so that index values stay valid, except where they rise steadily: those are
    offsets or positions, which mean nothing in another order. Booleans are permuted.
    """
    if values.dtype.kind == "c":
        real, imaginary = fresh(values.real, generator), fresh(values.imag, generator)
        return np.stack([real, imaginary], axis=-1).view(values.dtype)[..., 0]
    if values.dtype.kind == "f":
        return _noise(values, generator) if np.isfinite(values).all() else _mixed(values, generator)
    if values.dtype.kind == "b":
        return _mixed(values, generator)
    return values.copy() if _rises(values) else _mixed_rows(values, generator)


def fresh_leaves(
    arrays: Arrays, leaves: list[object], generator: np.random.Generator
) -> list[object]:
    """Return arguments with other values in their arrays."""
    return [
        arrays.like(leaf, fresh(arrays.on_host(leaf), generator)) if arrays.is_array(leaf) else leaf
        for leaf in leaves
    ]


def _noise(values: Values, generator: np.random.Generator) -> Values:
    """Return noise like the values; a lone or constant one comes back as it is."""
    wide = values.astype(np.float64)
    if wide.size < _FEW or wide.min() == wide.max():
        return values.copy()
    drawn = generator.normal(wide.mean(), wide.std(), wide.shape)
    return np.clip(drawn, wide.min(), wide.max()).astype(values.dtype)


def _mixed(values: Values, generator: np.random.Generator) -> Values:
    """Return all elements in another order."""
    return generator.permutation(values.reshape(-1)).reshape(values.shape)


def _mixed_rows(values: Values, generator: np.random.Generator) -> Values:
    """Return the elements in another order along the last dimension."""
    return generator.permuted(values, axis=-1) if values.ndim else values.copy()


def _rises(values: Foreign) -> bool:
    """Tell whether whole numbers never fall along the last dimension."""
    return values.ndim == 0 or bool((values[..., 1:] >= values[..., :-1]).all())
