"""Names are spelled as PyTorch's profiler spells them, each with one code."""

from __future__ import annotations

import numpy as np
import pytest

from tailwave.recordings.activity.names import MEMORY, Codes, mapped, operator_name

CUPTI, NSYS = dict(enumerate(MEMORY, 1)), dict(enumerate(MEMORY))


def column(*values: int) -> np.ndarray:
    """Return a column."""
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize(("memory", "first"), [(CUPTI, 1), (NSYS, 0)])
def test_copies_are_named_by_direction_and_memories(memory: dict[int, str], first: int) -> None:
    """CUPTI counts memories from 1 and nsys from 0; what is not known is said to be so."""
    codes = Codes(memory)
    pageable, pinned, device = range(first, first + 3)
    got = codes.of_copies(
        column(1, 2, 1, 99),
        column(pageable, device, pageable, -1),
        column(device, pinned, device, 9),
    )
    assert [codes.names[code] for code in got] == [
        "Memcpy HtoD (Pageable -> Device)",
        "Memcpy DtoH (Device -> Pinned)",
        "Memcpy HtoD (Pageable -> Device)",
        "Memcpy Unknown (Unknown -> Unknown)",
    ]


def test_migrations_are_named_by_direction_and_cause() -> None:
    """Pages that were touched, or are near what was, have no cause in their names."""
    codes = Codes(NSYS)
    ways, causes = column(11, 12, 13, 11, 12, 14), column(2, 3, -1, 1, 4, 1 << 40)
    assert [codes.names[code] for code in codes.of_migrations(ways, causes)] == [
        "Memcpy HtoD (managed)",
        "Memcpy DtoH (managed)",
        "Memcpy DtoD (managed)",
        "Memcpy HtoD (managed, prefetched)",
        "Memcpy DtoH (managed, evicted)",
        "Memcpy Unknown (managed)",
    ]


def test_memsets_and_waits_are_named() -> None:
    """As Kineto names them."""
    codes = Codes(CUPTI)
    numbers = [*codes.of_memsets(column(3)), *codes.of_syncs(column(1, 2, 3, 4, 7))]
    assert [codes.names[code] for code in numbers] == [
        "Memset (Device)",
        "Event Sync",
        "Stream Wait Event",
        "Stream Sync",
        "Context Sync",
        "Sync",
    ]


def test_a_name_has_one_code_and_can_be_written() -> None:
    """A lone surrogate cannot be encoded, and is replaced."""
    codes = Codes({})
    assert [codes.code(name) for name in ("a", "b\ud800", "a", "b?")] == [0, 1, 0, 1]
    assert codes.names == ("a", "b?")


@pytest.mark.parametrize("values", [(3, 1, 3), (-5, 1, -5), (1 << 40, 1, 1 << 40), ()])
def test_each_different_value_is_asked_for_once(values: tuple[int, ...]) -> None:
    """Whether the numbers are small, negative or large."""
    asked: list[int] = []

    def double(value: int) -> int:
        asked.append(value)
        return value * 2

    got = mapped(column(*values), double)
    assert got.tolist() == [2 * value for value in values]
    assert sorted(asked) == sorted(set(values))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("aten::mm, op_id = 17", "aten::mm"),
        ("aten::mm, seq = 3, op_id = 1", "aten::mm"),
        ("a, b", "a, b"),
    ],
)
def test_an_operator_loses_what_emit_nvtx_adds(text: str, name: str) -> None:
    """A text of the program's own stays as it is."""
    assert operator_name(text) == name
