"""Cuts a docstring into what an explanation is made of."""

from __future__ import annotations

import inspect
import re

from tailwave.model import Section


def from_docstring(docstring: str | None) -> tuple[str, tuple[Section, ...]]:
    """Cut a docstring into its claim, the first paragraph, and its sections.

    A block whose first line ends with a colon, and whose others are indented, has that heading; any
    other has none. A list is cut at its items.
    """
    claim, *blocks = inspect.cleandoc(docstring or "").replace("``", "").split("\n\n")
    return _joined(claim), tuple(_section(block) for block in blocks)


def _section(block: str) -> Section:
    heading, indented, body = block.partition(":\n    ")
    if not indented or "\n" in heading:
        heading, body = "", block
    return Section(heading, tuple(_joined(item) for item in re.split(r"\n(?=- )", body)))


def _joined(text: str) -> str:
    return " ".join(text.split())
