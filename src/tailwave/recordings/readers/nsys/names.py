"""The names of what nsys recorded, by the ids that its export has for them."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from tailwave.model import Flags, Ints, SmallInts
from tailwave.recordings.activity.names import MEMORY, Codes, mapped, operator_name
from tailwave.recordings.readers.nsys.database import Database

# nsys adds to a call's name the version of CUDA that it came with.
_CALL_VERSION: Final = re.compile(r"_v\d+$")


class Names(Codes):
    """Gives each name its code; the names in the order of their codes are ``Timeline.names``."""

    def __init__(self, database: Database) -> None:
        """Read the export's strings."""
        self._strings = database.texts("StringIds", "id", "value")
        # An export brings its own list of the kinds of memory, if it was asked for.
        listed = database.texts("ENUM_CUDA_MEM_KIND", "id", "label")
        super().__init__({**dict(enumerate(MEMORY)), **listed})

    def of_strings(self, ids: Ints) -> SmallInts:
        """Return the codes of strings by their ids."""
        return self.named(ids, lambda one: self._strings.get(one, "unnamed"))

    def of_calls(self, ids: Ints) -> SmallInts:
        """Return the codes of runtime calls, without the version in their names."""
        return self.named(ids, lambda one: _CALL_VERSION.sub("", self._strings.get(one, "call")))

    def of_graphs(self, graph: Ints) -> SmallInts:
        """Return the codes of whole graphs, where nsys recorded no node."""
        return self.named(graph, lambda one: f"CUDA graph {one}" if one >= 0 else "CUDA graph")

    def of_text(self, text: object) -> int:
        """Return what ``of_ranges`` wants for the text of an NVTX range; -1 for none."""
        if not isinstance(text, str):
            return -1
        name = operator_name(text)
        return self.code(name) << 1 | (name != text)

    def of_ranges(self, texts: Ints, ids: Ints) -> tuple[Ints, Flags]:
        """Return the codes of NVTX ranges, and which are operators.

        A range has its text, or the id of a string that the program registered.
        """
        registered = mapped(
            np.where(texts < 0, ids, -1),
            lambda one: self.of_text(self._strings.get(one, "unnamed")),
        )
        both = np.where(texts < 0, registered, texts)
        return both >> 1, (both & 1).astype(bool)

    def string(self, number: int) -> str:
        """Return a string by its id, "" if there is none."""
        return self._strings.get(number, "")
