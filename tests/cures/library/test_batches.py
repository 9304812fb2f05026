"""Batches keep their form."""

from __future__ import annotations

from collections import OrderedDict, UserDict
from typing import Any, NamedTuple

from tailwave.cures.library.staged import mapped


class Point(NamedTuple):
    """A named tuple."""

    x: Any
    y: Any


class Packed(tuple[int, ...]):
    """A tuple that moves itself, as torch's packed sequences do."""

    __slots__ = ()

    def to(self, _: object) -> None:
        """Move."""


def doubled(leaf: object) -> object:
    """Change numbers alone."""
    return leaf * 2 if isinstance(leaf, int) else leaf


def test_each_leaf_is_changed_where_it_is() -> None:
    """Nested in any order; what is no container passes through the change."""
    batch = {"a": [1, (2, Point(3, {"b": 4}))], "c": "text", "d": None}
    assert mapped(batch, doubled) == {
        "a": [2, (4, Point(6, {"b": 8}))],
        "c": "text",
        "d": None,
    }
    assert isinstance(mapped(batch, doubled)["a"][1][1], Point)
    assert batch["a"] == [1, (2, Point(3, {"b": 4}))]


def test_mappings_keep_their_kind() -> None:
    """Also those with more than items."""
    ordered = mapped(OrderedDict(a=1), doubled)
    assert (type(ordered), dict(ordered)) == (OrderedDict, {"a": 2})
    encoding: UserDict[str, int] = UserDict(a=1)
    vars(encoding)["encodings"] = "kept"
    moved = mapped(encoding, doubled)
    assert (type(moved), dict(moved), moved.encodings) == (UserDict, {"a": 2}, "kept")


def test_a_tuple_that_moves_itself_is_a_leaf() -> None:
    """Part of it may have to stay where it is."""
    seen: list[object] = []
    packed = Packed((1, 2))
    assert mapped([packed], lambda leaf: seen.append(leaf) or leaf) == [packed]  # type: ignore[func-returns-value]
    assert seen == [packed]
