"""The error tree: each error says what to do next and knows its exit code.

Exit codes follow BSD's ``sysexits.h``: 64 usage, 65 unreadable input, 69 no such device or
tool here, 70 our own fault.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

USAGE = 64
UNREADABLE = 65
UNAVAILABLE = 69
SOFTWARE = 70


class TailwaveError(Exception):
    """Anything tailwave reports to its user in one sentence instead of a traceback."""

    exit_code: ClassVar[int] = SOFTWARE


class UsageError(TailwaveError):
    """The call's words are off: an unknown option value, a combination that has no meaning."""

    exit_code: ClassVar[int] = USAGE


class UnknownNameError(UsageError):
    """A word that is none of the names that were asked for; the command line adds what is near."""

    def __init__(self, sentence: str, word: str, names: Collection[str]) -> None:
        """Say what there is; ``names`` are all that would have been right."""
        super().__init__(sentence)
        self.word, self.names = word, names


class UnreadableInputError(TailwaveError):
    """A file that was given cannot be read or holds nothing that can be analysed."""

    exit_code: ClassVar[int] = UNREADABLE


class UnavailableError(TailwaveError):
    """A device, a tool or an optional package that the command needs is not here."""

    exit_code: ClassVar[int] = UNAVAILABLE


class GraphRefusedError(TailwaveError):
    """A callable cannot become one CUDA graph; the sentence says why and what to change."""
