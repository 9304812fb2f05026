"""Batches as loaders make them: tensors and arrays inside tuples, lists and dictionaries."""

from __future__ import annotations

import copy
from collections.abc import Callable, MutableMapping
from typing import Any


def mapped(batch: Any, change: Callable[[Any], Any]) -> Any:  # noqa: ANN401  any loader's
    """Return a batch of the same form, each leaf changed; what is no container is a leaf.

    Lists, tuples and named tuples, and mappings of any kind. A tuple that knows how to move itself
    (torch's ``PackedSequence``, part of which must stay on the host) is a leaf too.
    """
    if isinstance(batch, MutableMapping):
        clone = copy.copy(batch)  # which keeps its kind, and what it has beside the items
        clone.update({key: mapped(value, change) for key, value in batch.items()})
        return clone
    if isinstance(batch, list):
        return [mapped(value, change) for value in batch]
    if isinstance(batch, tuple) and not hasattr(batch, "to"):
        values = [mapped(value, change) for value in batch]
        return type(batch)(*values) if hasattr(batch, "_fields") else type(batch)(values)
    return change(batch)
