"""Do a graph's replays give what plain calls give? Compared on new inputs, from equal state.

Bit for bit, or within what the type's own rounding allows (``TOLERANCES``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tailwave.cures.library.capture.captor import Array, Foreign, Values
from tailwave.cures.library.capture.tree import flatten, token
from tailwave.errors import GraphRefusedError

# Largest difference that a graph may make, as a share of the array's largest magnitude. A replay
# runs the same kernels on the same values, so the difference is 0 unless a kernel adds up in no
# fixed order (atomics), or the library takes another algorithm in a capture (another workspace).
# Then single products differ by their rounding: half precision and bfloat16 round to 2^-11 and
# 2^-8, float32 goes through tensor cores as TF32 (2^-11), and float64 sums differ far below
# 1e-9. Allowed are some sixteen (float16), eight (bfloat16) and two (float32) such steps, and a
# quarter for the 8-bit types.
TOLERANCES = {
    "float64": 1e-9,
    "complex128": 1e-9,
    "float32": 1e-3,
    "complex64": 1e-3,
    "float16": 8e-3,
    "bfloat16": 3.2e-2,
}
_EIGHT_BIT = 0.25
# Calls on new inputs that are compared: in the second, state that a replay did not carry on shows.
_COMPARED = 2
_FEW = 2  # with fewer elements there is no spread to copy


class Arrays(Protocol):
    """What is needed of an array library to compare and to copy."""

    def is_array(self, item: object) -> bool:
        """Tell whether something is one of its arrays."""

    def type_name(self, array: Array) -> str:
        """Return the type of its elements, as "float32"."""

    def same_bits(self, one: Array, other: Array) -> bool:
        """Tell whether two arrays hold the same bytes."""

    def on_host(self, array: Array) -> Values:
        """Return its values."""

    def copy(self, array: Array) -> Array:
        """Return a copy on the GPU with the same layout."""

    def like(self, array: Array, values: Values) -> Array:
        """Return an array laid out as another, with values of its own."""


class State(Protocol):
    """What a function changes besides its arguments."""

    def back(self) -> None:
        """Put it back for a plain call."""

    def ready(self) -> None:
        """Put it back for a replay."""

    def changed(self) -> dict[str, Array]:
        """Return copies of what is not as it was, by label."""

    def paired(
        self, plain: dict[str, Array], replay: dict[str, Array]
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return what plain calls and replays changed, each with the other's labels."""


class Replayer(Protocol):
    """A bucket that is held against plain calls."""

    agreement: str
    changed_inputs: tuple[int, ...]

    def run(self, leaves: list[object]) -> object:
        """Replay it."""


def hold_against(
    arrays: Arrays,
    call: Callable[[list[object]], object],
    bucket: Replayer,
    static: list[object],
    state: State,
) -> None:
    """Compare plain calls with a bucket's replays on new inputs; raises GraphRefusedError.

    The bucket learns which arguments the function writes to, and how well they agree.
    """
    generator = np.random.default_rng(0)
    rounds = [fresh_leaves(arrays, static, generator) for _ in range(_COMPARED)]
    state.back()
    plain = [_observed(arrays, call, given) for given in rounds]
    written = changed_arguments(arrays, rounds, plain)
    bucket.changed_inputs = tuple(sorted({*bucket.changed_inputs, *written}))
    plain_state = state.changed()
    state.ready()
    replays = [_observed(arrays, bucket.run, given) for given in rounds]
    agreement = Agreement()
    for one, other in zip(plain, replays, strict=True):
        compare(arrays, agreement, one, other)
    compare(arrays, agreement, *state.paired(plain_state, state.changed()))
    bucket.agreement = str(agreement)


def copied(arrays: Arrays, leaves: list[object]) -> list[object]:
    """Return arguments with copies of their arrays, for a call that may change them."""
    return [arrays.copy(leaf) if arrays.is_array(leaf) else leaf for leaf in leaves]


def _observed(
    arrays: Arrays, call: Callable[[list[object]], object], given: list[object]
) -> dict[str, object]:
    """Return copies of what a call returns, and of its arguments after it, by name."""
    leaves = copied(arrays, given)
    outputs, _ = flatten(call(leaves))
    seen = {f"output {index}": out for index, out in enumerate(outputs)}
    seen |= {f"argument {i}": leaf for i, leaf in enumerate(leaves) if arrays.is_array(leaf)}
    return dict(zip(seen, copied(arrays, list(seen.values())), strict=True))


@dataclass
class Agreement:
    """The largest difference so far between plain calls and replays, and where it was."""

    gap: float = 0.0
    where: str = ""

    def __str__(self) -> str:
        """Say it in words."""
        if not self.where:
            return "bitwise"
        return f"within {self.gap:.1e} of the largest value of {self.where}"

    def add(self, where: str, type_name: str, plain: Values, replay: Values) -> None:
        """Take in two arrays that are not the same bit for bit; raises GraphRefusedError."""
        gap = _gap(plain, replay)
        if not gap <= tolerance(type_name):
            raise GraphRefusedError(
                f"{where} of a replay is off by {gap:.1e} of its largest value from the plain "
                "call's on new inputs: something it depends on is not in the graph (a Python "
                "number that changes, a tensor bound anew at each call, a copy on the CPU); keep "
                "it in a CUDA tensor that is changed in place, or run an optimizer one step before"
            )
        if gap >= self.gap:
            self.gap, self.where = gap, where


def tolerance(type_name: str) -> float:
    """Return the tolerance of a type named without its library; whole numbers have none."""
    return TOLERANCES.get(type_name, _EIGHT_BIT if type_name.startswith("float8") else 0.0)


def _gap(plain: Values, replay: Values) -> float:
    """Return the largest difference over the largest magnitude; infinite for other shapes."""
    if plain.shape != replay.shape:
        return float("inf")
    wide = np.complex128 if plain.dtype.kind == "c" else np.float64
    one, other = plain.astype(wide), replay.astype(wide)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    if same.all():
        return 0.0
    finite = np.abs(one[np.isfinite(one)])
    largest = float(finite.max()) if finite.size else 0.0
    with np.errstate(invalid="ignore"):
        off = float(np.abs(one[~same] - other[~same]).max())
    return off / largest if largest else float("inf")


def compare(
    arrays: Arrays, agreement: Agreement, plain: Mapping[str, object], replay: Mapping[str, object]
) -> None:
    """Take in what a plain call and a replay gave, by name; raises GraphRefusedError."""
    if plain.keys() != replay.keys():
        raise GraphRefusedError(
            "the function returns something else on other inputs, and a graph always returns the "
            "same; keep what decides about it out of the function"
        )
    for name, one in plain.items():
        other = replay[name]
        if arrays.is_array(one) and arrays.is_array(other):
            _compare_two(arrays, agreement, name, (one, other))
        elif token(one) != token(other):
            raise GraphRefusedError(
                f"{name} is a Python value that changes ({one!r}, {other!r}), and a replay runs no "
                "Python; return an array of the GPU instead"
            )


def changed_arguments(
    arrays: Arrays, given: list[list[object]], seen: list[dict[str, object]]
) -> tuple[int, ...]:
    """Return the places of the arguments that calls changed in place."""
    return tuple(
        index
        for index, leaf in enumerate(given[0])
        if arrays.is_array(leaf)
        and any(
            not arrays.same_bits(before[index], after[f"argument {index}"])
            for before, after in zip(given, seen, strict=True)
        )
    )


def _compare_two(
    arrays: Arrays, agreement: Agreement, name: str, pair: tuple[Array, Array]
) -> None:
    """Compare two arrays."""
    one, other = pair
    if one.shape != other.shape:
        raise GraphRefusedError(
            f"{name} has another shape on other inputs ({tuple(one.shape)}, "
            f"{tuple(other.shape)}), and a graph's shapes are fixed; use masks of full size"
        )
    if not arrays.same_bits(one, other):
        kind = arrays.type_name(one)
        agreement.add(name, kind, arrays.on_host(one), arrays.on_host(other))


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
