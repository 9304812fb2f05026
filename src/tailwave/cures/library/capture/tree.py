"""Takes nested arguments and results apart into leaves, and puts them together again."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import NamedTuple

from tailwave.cures.library.capture.captor import Foreign

_PLAIN = (type(None), bool, int, str, bytes, complex, enum.Enum)


class Form(NamedTuple):
    """The shape of a nesting without its leaves; equal for trees that are nested alike."""

    kind: type
    names: tuple[object, ...] = ()  # a mapping's keys, a record's fields
    inner: tuple[Form, ...] | None = None  # None for a leaf


_LEAF = Form(object)


def flatten(tree: object) -> tuple[list[object], Form]:
    """Return the leaves of nested tuples, lists, mappings and dataclasses, and their form."""
    leaves: list[object] = []
    return leaves, _taken_apart(tree, leaves)


def rebuild(form: Form, leaves: Iterable[object]) -> object:
    """Return the tree of this form with other leaves."""
    return _built(form, iter(leaves))


def whole(form: Form, leaves: Iterable[object]) -> tuple[tuple[object, ...], dict[str, object]]:
    """Return the positional and keyword arguments of a call from its leaves."""
    call: Foreign = rebuild(form, leaves)
    args, kwargs = call
    return args, kwargs


def token(leaf: object) -> tuple[object, ...]:
    """Return what a leaf that is no array adds to a bucket's key.

    Plain values count by type and value, so that 1, 1.0 and True differ; all else by identity,
    which holds as long as the bucket keeps the object.
    """
    if isinstance(leaf, float):
        return (float, leaf.hex())
    if isinstance(leaf, _PLAIN):
        return (type(leaf), leaf)
    return ("object", id(leaf))


def is_plain(leaf: object) -> bool:
    """Tell whether a leaf is a value that cannot hide an array."""
    return isinstance(leaf, (*_PLAIN, float))


def _taken_apart(tree: object, leaves: list[object]) -> Form:
    """Append the tree's leaves; return its form."""
    kind = type(tree)
    if isinstance(tree, dict):
        return Form(kind, tuple(tree), tuple(_taken_apart(v, leaves) for v in tree.values()))
    if isinstance(tree, list | tuple):
        return Form(kind, (), tuple(_taken_apart(v, leaves) for v in tree))
    if is_dataclass(tree) and not isinstance(tree, type):
        names = tuple(field.name for field in fields(tree) if field.init)
        return Form(kind, names, tuple(_taken_apart(getattr(tree, n), leaves) for n in names))
    leaves.append(tree)
    return _LEAF


def _built(form: Form, leaves: Iterator[object]) -> object:
    """Build one level of a tree."""
    if form.inner is None:
        return next(leaves)
    kind: Foreign = form.kind
    values = [_built(inner, leaves) for inner in form.inner]
    if kind in {list, tuple}:
        return kind(values)
    if issubclass(kind, list | tuple):  # torch.Size, named tuples
        return kind(*values) if hasattr(kind, "_fields") else kind(values)
    pairs: dict[Foreign, object] = dict(zip(form.names, values, strict=True))
    plain = {"builtins", "collections"}
    if issubclass(kind, dict) and not is_dataclass(kind) and kind.__module__ in plain:
        mapping = kind()  # a defaultdict comes back without its default
        mapping.update(pairs)
        return mapping
    return kind(**pairs)
