"""What a rule of this family is, what it finds of a kernel, and how that is worded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from tailwave.figures import quantity
from tailwave.model import Evidence
from tailwave.profiles.rules.kernel import Kernel, MissingCounterError

WORTH_SAYING = 0.005  # of the kernel's time


class Loss(msgspec.Struct, frozen=True):
    """What one cause costs; ``share`` is the part of the kernel's time that a cure brings back."""

    share: float
    claim: str
    evidence: tuple[Evidence, ...] = ()


class Absence(msgspec.Struct, frozen=True):
    """A mechanism that the kernel does not use at all: its profile tells nothing of it.

    ``what`` names it, and in brackets how that shows.
    """

    what: str


class NcuRule(msgspec.Struct, frozen=True):
    """A rule of the profiler's own on the same cause: its name, and a part of its title.

    Where ``believed`` words what it estimates ("diverging threads"), its estimate stands in for
    missing counters.
    """

    name: str
    title: str = ""
    believed: str = ""


class KernelRule(Protocol):
    """One cause of a kernel's lost time. A module is one, with a docstring that `explain` prints.

    ``METRICS`` are the counters to record for it, ``NEEDED`` those that it cannot do without where
    chips lack them; ``DIFFERS`` says why ``THEIRS`` may estimate otherwise.
    """

    CODE: str
    TITLE: str
    QUESTION: str
    METRICS: tuple[str, ...]
    NEEDED: tuple[str, ...]
    THEIRS: tuple[NcuRule, ...]
    DIFFERS: str

    def find(self, kernel: Kernel, /) -> Loss | Absence | None:
        """Look for the cause; MissingCounterError where the profile does not answer."""

    def most(self, kernel: Kernel, /) -> float:
        """Return the most that it can cost by other counters, 1 if nothing else bounds it.

        Raises MissingCounterError where those are missing too.
        """

    def cures(self, kernel: Kernel, /) -> tuple[str, ...]:
        """Return what cures it in this kernel; MissingCounterError where that does not show."""


def least(*bounds: Callable[[], float]) -> float:
    """Return the least of those bounds that are known; MissingCounterError if none is."""
    known: list[float] = []
    missing: list[MissingCounterError] = []
    for bound in bounds:
        try:
            known.append(bound())
        except MissingCounterError as error:
            missing.append(error)
    if not known:
        raise missing[0]
    return min(known)


def ratio(what: str, value: float) -> Evidence:
    """A share as evidence."""
    return Evidence(what, value, "ratio")


def count(value: float, noun: str) -> str:
    """Word a count: "1 CTA", "1,320 CTAs"."""
    return f"{quantity(value, 'count')} {noun}{'' if value == 1 else 's'}"
