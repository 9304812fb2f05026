"""What every remedy is: one mechanism, how it is applied, how it is seen to work, how it is kept.

A remedy's file is a module that fits ``Remedy``. A ``Candidate`` is a remedy with its parameter,
ready for a trial; it is written ``name`` or ``name:parameter``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

import msgspec

from tailwave.model import Diagnosis

# What one process of the program under trial reported of itself, as the hook wrote it.
Report: TypeAlias = Mapping[str, Any]


class Action(msgspec.Struct, frozen=True):
    """What the hook is to do inside the program: a name that it knows, and how."""

    name: str
    parameters: dict[str, str | int] = msgspec.field(default_factory=dict)


class Change(msgspec.Struct, frozen=True):
    """All that a remedy changes for one run of the program; nothing outlives the run.

    ``environment`` holds variables to set, or to unset where the value is None. ``mps_percent`` is
    the share of the SMs (1 to 100) under an MPS daemon of our own; None is no daemon.
    """

    environment: dict[str, str | None] = msgspec.field(default_factory=dict)
    actions: tuple[Action, ...] = ()
    mps_percent: int | None = None


class Setting(msgspec.Struct, frozen=True):
    """What is known of the program and its machine before anything is applied.

    ``environment`` is the program's own. ``cpus`` are those that it may run on. ``mps_why_not`` is
    the sentence that says why no MPS daemon can be started, "" where one can. ``streams`` are the
    names that the program gives to its streams (``tailwave.stream``).
    """

    environment: Mapping[str, str]
    diagnosis: Diagnosis | None = None
    gpus: int = 1
    cpus: int = 1
    hami: bool = False
    mps_why_not: str = ""
    is_python: bool = True
    streams: tuple[str, ...] = ()


class Seen(NamedTuple):
    """Whether a remedy's mechanism was at work in a run, and the sentence that says how one knows.

    ``works`` is None where nothing reports it: then the effect alone speaks.
    """

    works: bool | None
    sentence: str


class Remedy(Protocol):
    """One mechanism that can be tried on a program whose source stays as it is.

    ``CURES`` are the cures, as findings name them, that it brings about; where ``EVIDENCE`` holds
    words, only in a finding that mentions one of them.
    """

    NAME: str
    LABEL: str
    CURES: tuple[str, ...]
    EVIDENCE: tuple[str, ...]

    def parameters(self, setting: Setting, /) -> tuple[str, ...]:
        """Return the parameters worth a trial, best guess first; () where there is nothing."""

    def change(self, parameter: str, setting: Setting, /) -> Change:
        """Return what to change; raises UsageError for a parameter that means nothing here."""

    def why_not(self, parameter: str, setting: Setting, /) -> str:
        """Return the sentence that says why it cannot be tried here, "" where it can."""

    def seen(self, parameter: str, reports: Iterable[Report], /) -> Seen:
        """Tell from the reports of one run's processes whether the mechanism was at work."""

    def lines(self, parameter: str, /) -> tuple[str, ...]:
        """Return the lines that keep it: shell or Python, the last ones those to add."""


class Candidate(msgspec.Struct, frozen=True):
    """A remedy with its parameter, as it is tried.

    ``bound`` is the most that it can save, as a share of the step, by the findings (``cures``)
    that it answers; None where no diagnosis says.
    """

    remedy: Remedy
    parameter: str = ""
    bound: float | None = None
    cures: tuple[str, ...] = ()

    @property
    def spec(self) -> str:
        """Its name as it is written on the command line."""
        return f"{self.remedy.NAME}:{self.parameter}" if self.parameter else self.remedy.NAME

    @property
    def label(self) -> str:
        """What it is, in words."""
        return f"{self.remedy.LABEL} ({self.parameter})" if self.parameter else self.remedy.LABEL

    def change(self, setting: Setting) -> Change:
        """Return what it changes for a run."""
        return self.remedy.change(self.parameter, setting)

    def why_not(self, setting: Setting) -> str:
        """Return the sentence that says why it cannot be tried, "" where it can."""
        return self.remedy.why_not(self.parameter, setting)

    def seen(self, reports: Iterable[Report]) -> Seen:
        """Tell whether its mechanism was at work in a run."""
        return self.remedy.seen(self.parameter, reports)

    def lines(self) -> tuple[str, ...]:
        """Return the lines that keep it."""
        return self.remedy.lines(self.parameter)
