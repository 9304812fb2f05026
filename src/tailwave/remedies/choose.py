"""Which remedies a diagnosis calls for, and the most that each can bring."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tailwave.model import Diagnosis
from tailwave.remedies.base import Candidate, Remedy, Setting


class Dropped(msgspec.Struct, frozen=True):
    """A candidate that is not worth a trial, or cannot have one, and the sentence that says why."""

    candidate: Candidate
    why: str


class Choice(msgspec.Struct, frozen=True):
    """What a diagnosis calls for: candidates, greatest bound first; those dropped; advice.

    ``advice`` are cures that need root or the program's source: to be printed, never run.
    """

    candidates: tuple[Candidate, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    advice: tuple[str, ...] = ()


def named(spec: str, setting: Setting, remedies: Sequence[Remedy]) -> Candidate:
    """Return the candidate that a user names; without a parameter, with its best guess.

    Raises UsageError for a name or a parameter that there is not.
    """
    raise NotImplementedError


def choose(diagnosis: Diagnosis | None, setting: Setting, remedies: Sequence[Remedy]) -> Choice:
    """Choose from a diagnosis; each candidate carries its bound."""
    raise NotImplementedError
