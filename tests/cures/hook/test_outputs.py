"""Outputs: copied when exposed, picked evenly, hashed whole."""

from __future__ import annotations

import hashlib
import math
import struct
from typing import Any

import numpy as np
import pytest

from tailwave.cures.hook.outputs import Outputs, picked


def described(value: object) -> Any:  # noqa: ANN401  a part of the report
    """Expose one value and read it back."""
    outputs = Outputs()
    outputs.keep("x", value)
    return outputs.document(final=True)["x"]


def test_a_number_is_its_own_value() -> None:
    """Its hash is that of its eight bytes."""
    expected = hashlib.sha256(struct.pack("<d", 2.5)).hexdigest()
    assert described(2.5) == {
        "count": 1,
        "values": [2.5],
        "shape": [],
        "dtype": "",
        "sha256": expected,
    }


def test_nested_lists_and_dicts_are_flattened() -> None:
    """In their order; a bool is 0 or 1."""
    assert described([[1, 2], {"a": 3.5}, (True,)])["values"] == [1.0, 2.0, 3.5, 1.0]


def test_an_array_is_copied_when_it_is_exposed() -> None:
    """What the program writes afterwards does not count."""
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    outputs = Outputs()
    outputs.keep("x", array)
    raw = array.tobytes()
    array[:] = 9
    assert outputs.document(final=True)["x"] == {
        "count": 1,
        "values": [0, 1, 2, 3, 4, 5],
        "shape": [2, 3],
        "dtype": "float32",
        "sha256": hashlib.sha256(raw).hexdigest(),
    }


def test_complex_numbers_are_two_each() -> None:
    """Real and imaginary part."""
    assert described(np.array([1 + 2j]))["values"] == [1.0, 2.0]
    assert described(3 - 1j)["values"] == [3.0, -1.0]


def test_values_that_are_no_numbers_are_words() -> None:
    """JSON has no number for them, and each is another."""
    assert described(np.array([np.inf, 1.0, np.nan]))["values"] == ["inf", 1.0, "nan"]
    assert described(-math.inf)["values"] == ["-inf"]


def test_many_values_are_picked_evenly() -> None:
    """The first, the last, and 4,096 in all; the hash still covers each."""
    found = described(np.arange(10_000))
    assert len(found["values"]) == 4096
    assert (found["values"][0], found["values"][-1]) == (0.0, 9999.0)
    steps = {b - a for a, b in zip(found["values"], found["values"][1:], strict=False)}
    assert steps == {2.0, 3.0}
    other = np.arange(10_000)
    other[1] = 7  # between the first value picked and the second
    assert described(other)["sha256"] != found["sha256"]


def test_few_values_are_all_there() -> None:
    """Up to the bound."""
    assert list(picked(4096)) == list(range(4096))


@pytest.mark.parametrize("value", ["text", None, object(), [1, "two"]])
def test_what_is_no_number_is_refused(value: object) -> None:
    """With the name of its type."""
    with pytest.raises(TypeError, match="an output is numbers, a tensor or an array, not a"):
        Outputs().keep("x", value)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(3, "int"), ([1, True], "int"), (3.0, ""), ([1, 2.0], ""), ([], ""), (1j, "")],
)
def test_whole_numbers_are_told_from_others(value: object, dtype: str) -> None:
    """Of Python's own; a whole number must stay what it is."""
    assert described(value)["dtype"] == dtype


def test_an_output_that_cannot_be_read_leaves_the_others() -> None:
    """Words are kept of the one that cannot."""
    outputs = Outputs()
    outputs.keep("words", np.array(["a", "b"]))
    outputs.keep("number", 1.0)
    assert list(outputs.document(final=True)) == ["number"]
    said = "the output words cannot be compared: ValueError: could not convert string to float"
    assert outputs.guard.error.startswith(said)


def test_a_huge_array_is_kept_by_its_picked_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole copy might not fit."""
    monkeypatch.setattr("tailwave.cures.hook.outputs.MOST_BYTES", 8 * 5_000)
    small, large = np.arange(5_000.0), np.arange(5_001.0).reshape(3, 1667)
    assert described(small)["sha256"] == hashlib.sha256(small.tobytes()).hexdigest()
    kept = np.array([i * 5_000 // 4095 for i in range(4096)], dtype=np.float64)
    assert described(large)["sha256"] == hashlib.sha256(kept.tobytes()).hexdigest()
    assert described(large)["shape"] == [3, 1667]
