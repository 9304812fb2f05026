"""Every Python block of the pages runs, with stand-ins for what needs a GPU.

The functions of the library take and give what the real ones do, by their signatures, and do
nothing; the packages of others are whatever a block makes of them.
"""

from __future__ import annotations

import inspect
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints
from unittest.mock import MagicMock, create_autospec

import pytest

import tailwave
from tailwave.cures.library.partition import Partition, SmGroup
from tests.docs.pages import Block, blocks

# What needs a GPU; everything else of tailwave is its own.
ON_A_GPU = ("graph", "host_wait", "l2_window", "managed", "profile", "stream")
# Names that a page leaves to its reader, and packages of others.
THEIRS = (
    *("step", "model", "example", "x", "w", "y", "loader", "train", "table", "stream", "optimizer"),
    *("decode", "prefill", "use", "F", "torch", "onnxruntime"),
)


def instance(cls: type) -> Any:  # noqa: ANN401 - of that class
    """Return a stand-in that has what the class and its ``__init__`` give an instance."""
    sources = [
        inspect.getsource(base)
        for base in cls.__mro__
        if base.__module__ in sys.modules and base.__module__.startswith("tailwave")
    ]
    own = re.findall(r"self\.(\w+)", "".join(sources))
    made = MagicMock(spec=[*dir(cls), *own])
    if hasattr(cls, "__enter__"):
        made.__enter__.return_value = made
    return made


def pretend(function: Any) -> Any:  # noqa: ANN401 - any function
    """Return a stand-in that takes the same arguments and gives a stand-in of what that gives."""
    gives = get_type_hints(function)["return"]
    made = instance(gives) if isinstance(gives, type) else MagicMock()
    return create_autospec(function, return_value=made)


def partition(sms: int | list[object]) -> Any:  # noqa: ANN401 - a group, or several
    """Give a group, or a group for each share."""
    if isinstance(sms, int):
        return instance(SmGroup)
    made = instance(Partition)
    made.__enter__.return_value = tuple(instance(SmGroup) for _ in sms)
    return made


def staged(loader: object, ahead: int = 2) -> Iterator[object]:
    """Give one batch."""
    del loader, ahead
    return iter([MagicMock()])


@pytest.fixture
def names(place: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Return what a block finds: the reader's own names, and a library without a GPU."""
    for name in ON_A_GPU:
        monkeypatch.setattr(tailwave, name, pretend(getattr(tailwave, name)))
    monkeypatch.setattr(tailwave, "partition", partition)
    monkeypatch.setattr(tailwave, "staged", staged)
    torch = MagicMock()
    for name in ("torch", "torch.profiler", "onnxruntime"):
        monkeypatch.setitem(sys.modules, name, torch)
    shutil.copy(place / "kernels.csv", place / "x.csv")
    return {**dict.fromkeys(THEIRS, torch), "tailwave": tailwave}


@pytest.mark.parametrize("block", blocks("python"), ids=lambda block: block.where)
def test_a_block_runs(block: Block, names: dict[str, object]) -> None:
    """As it stands, in a folder that has its files."""
    exec(compile(block.text, block.where, "exec"), names)  # noqa: S102 - to run it is the test
