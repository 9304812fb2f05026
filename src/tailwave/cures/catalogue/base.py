"""What every cure is: one mechanism, how it is applied, how it is seen to work, how it is kept.

A cure's file serves in two places. Outside, it says what can be tried and judges what a run
reported; inside the program the hook runs its `Action`. In there is only the standard library
and the program's own torch, so a file of this folder imports nothing else at its top.

A ``Candidate`` is a cure with its parameter, ready for a trial; it is written ``name`` or
``name:parameter``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeAlias

from tailwave.errors import UsageError

if TYPE_CHECKING:
    from tailwave.cures.hook.action import Action
    from tailwave.model import Diagnosis

# What one process of the program under trial reported of itself, as the hook wrote it.
Report: TypeAlias = Mapping[str, Any]

# In a cure's ``answers``: it undoes a mistake that may lie behind any finding, or behind none.
ANYTHING: Final = "anything"


class Entry(NamedTuple):
    """A cure as a reader meets it: what it is in words, what it does and needs, its lines of code.

    ``advice`` is what to do oneself where it cannot be tried on the program as it is, "" where what
    it does says that too.
    """

    name: str
    label: str
    does: str
    needs: str
    lines: tuple[str, ...]
    advice: str = ""


class Task(NamedTuple):
    """What the hook is to do inside the program: a class as ``module:name``, and its parameters."""

    name: str
    action: str
    parameters: dict[str, str | int]


@dataclass(frozen=True)
class Treatment:
    """All that a cure changes for one run of the program; nothing outlives the run.

    ``environment`` holds variables to set, or to unset where the value is None. ``mps_percent`` is
    the share of the SMs (1 to 100) under an MPS daemon of our own; None is no daemon.
    """

    environment: dict[str, str | None] = field(default_factory=dict)
    tasks: tuple[Task, ...] = ()
    mps_percent: int | None = None


@dataclass(frozen=True)
class Setting:
    """What is known of the program and its machine before anything is applied.

    ``environment`` is the program's own. ``cpus`` are those that it may run on. ``mps_why_not`` is
    the sentence that says why no MPS daemon can be started, "" where one can. ``streams`` are the
    names that the program gives to its streams (``tailwave.stream``).
    """

    environment: Mapping[str, str]
    diagnosis: Diagnosis | None = None
    gpus: int = 1
    cpus: int = 1
    mps_why_not: str = ""
    is_python: bool = True
    streams: tuple[str, ...] = ()


class Mechanism(NamedTuple):
    """Whether a cure's mechanism was at work in a run, and the sentence that says how one knows.

    ``works`` is None where nothing reports it: then the effect alone speaks.
    """

    works: bool | None
    sentence: str


class Cure(ABC):
    """One mechanism that can be tried on a program whose source stays as it is.

    ``does`` and ``needs`` explain it, ``advice`` says how to do it by hand, where a finding names
    it. ``answers`` are the cures, as findings name them, that it brings about; where ``evidence``
    holds words, only in a finding that mentions one of them. ``example`` is a parameter to show.
    """

    name: str
    label: str
    does: str
    needs: str
    advice: str = ""
    answers: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    example: str = ""

    def parameters(self, setting: Setting, /) -> tuple[str, ...]:
        """Return the parameters worth a trial, best guess first; () where there is nothing."""
        del setting
        return (self.example,)

    @abstractmethod
    def treatment(self, parameter: str, setting: Setting, /) -> Treatment:
        """Return what to change; raises UsageError for a parameter that means nothing here."""

    @abstractmethod
    def why_not(self, parameter: str, setting: Setting, /) -> str:
        """Return the sentence that says why it cannot be tried here, "" where it can."""

    @abstractmethod
    def mechanism(self, parameter: str, reports: Iterable[Report], /) -> Mechanism:
        """Tell from the reports of one run's processes whether the mechanism was at work."""

    @abstractmethod
    def lines(self, parameter: str, /) -> tuple[str, ...]:
        """Return the lines that keep it: shell or Python, the last ones those to add."""

    @property
    def entry(self) -> Entry:
        """The cure as a reader meets it."""
        lines = self.lines(self.example)
        return Entry(self.name, self.label, self.does, self.needs, lines, self.advice)


class CureInProgram(Cure):
    """A cure that acts inside a Python program: the hook runs its ``action`` there."""

    action: ClassVar[type[Action]]

    def options(self, parameter: str) -> dict[str, str | int]:
        """Return the action's parameters; raises UsageError for a parameter that means nothing."""
        if parameter:
            raise UsageError(f"{self.name} takes no parameter: write {self.name}.")
        return {}

    @abstractmethod
    def judged(self, parameter: str, report: ActionReport) -> Mechanism:
        """Tell from what the action reported whether the mechanism was at work."""

    def treatment(self, parameter: str, _: Setting, /) -> Treatment:
        """Ask the hook."""
        home = f"{self.action.__module__}:{self.action.__name__}"
        return Treatment(tasks=(Task(self.name, home, self.options(parameter)),))

    def why_not(self, _: str, setting: Setting, /) -> str:
        """Only inside Python."""
        return needs_python(setting)

    def mechanism(self, parameter: str, reports: Iterable[Report], /) -> Mechanism:
        """Gather what the processes report of the action."""
        return self.judged(parameter, action_report(self.name, reports))


@dataclass(frozen=True)
class Candidate:
    """A cure with its parameter, as it is tried.

    ``bound`` is the most that it can save, as a share of the step, by the findings (``codes``)
    that it answers; None where no diagnosis says.
    """

    cure: Cure
    parameter: str = ""
    bound: float | None = None
    codes: tuple[str, ...] = ()

    @property
    def spec(self) -> str:
        """Its name as it is written on the command line."""
        return f"{self.cure.name}:{self.parameter}" if self.parameter else self.cure.name

    @property
    def label(self) -> str:
        """What it is, in words."""
        return f"{self.cure.label} ({self.parameter})" if self.parameter else self.cure.label

    def treatment(self, setting: Setting) -> Treatment:
        """Return what it changes for a run."""
        return self.cure.treatment(self.parameter, setting)

    def why_not(self, setting: Setting) -> str:
        """Return the sentence that says why it cannot be tried, "" where it can."""
        return self.cure.why_not(self.parameter, setting)

    def mechanism(self, reports: Iterable[Report]) -> Mechanism:
        """Tell whether its mechanism was at work in a run."""
        return self.cure.mechanism(self.parameter, reports)

    def lines(self) -> tuple[str, ...]:
        """Return the lines that keep it."""
        return self.cure.lines(self.parameter)


class ActionReport(NamedTuple):
    """What a run's processes report of an action, over all of them.

    ``seen`` is what the processes that applied it saw, one entry each; ``why_not`` the reason of
    one that did not.
    """

    seen: tuple[Mapping[str, Any], ...]
    why_not: str

    def total(self, key: str) -> int:
        """Add up a count over the processes that applied the action."""
        return sum(int(one.get(key) or 0) for one in self.seen)

    def first(self, key: str) -> object:
        """Return the first answer of a process that has one; None where none has."""
        return next((one[key] for one in self.seen if one.get(key) is not None), None)

    def missing(self, what: str) -> Mechanism:
        """Say that the action was not at work: a process's own reason, or what is missing."""
        return Mechanism(works=False, sentence=sentence(self.why_not or what))


_NO_PROCESS: Final = "No process of the program reported it: it ran no Python that could be entered"


def action_report(name: str, reports: Iterable[Report]) -> ActionReport:
    """Gather what the processes report of an action."""
    all_of_it = [report["actions"][name] for report in reports if name in report.get("actions", {})]
    reasons = [one["why_not"] for one in all_of_it if one.get("why_not")]
    seen = tuple(one.get("seen") or {} for one in all_of_it if one.get("applied"))
    return ActionReport(seen, reasons[0] if reasons else _NO_PROCESS if not all_of_it else "")


def read_back(key: str, wanted: object, name: str, reports: Iterable[Report]) -> Mechanism:
    """Compare what the processes read of their own state with what a cure set.

    ``name`` is what was set, in words. One process in which it took is enough: a program's helpers
    need not use the GPU.
    """
    environments = [report.get("environment") or {} for report in reports]
    found = [one[key] for one in environments if one.get(key) is not None]
    if not found:
        return Mechanism(None, f"{name} was set; no process of the program read it back.")
    if wanted in found:
        return Mechanism(works=True, sentence=f"{name}: read back as {wanted} inside the program.")
    sentence = f"{name} was set, yet inside the program it is {found[0]}."
    return Mechanism(works=False, sentence=sentence)


def sentence(text: str) -> str:
    """Return the text as a sentence: a capital first, a full stop last."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def needs_python(setting: Setting) -> str:
    """Say that an action needs a Python program, "" where it is one."""
    if setting.is_python:
        return ""
    return "It is applied inside Python, and the program runs none that could be entered."


def needs_stream(name: str, setting: Setting) -> str:
    """Say that an action needs a Python program that names a stream so, "" where it does."""
    if setting.is_python and name not in setting.streams:
        return (
            f"The program names no stream {name}: take the stream from "
            f'`tailwave.stream("{name}")`, and it can be treated apart from others.'
        )
    return needs_python(setting)


def already(environment: Mapping[str, str | None], setting: Setting) -> str:
    """Say that the program's environment already is so, "" where it is not."""
    if any(setting.environment.get(name) != value for name, value in environment.items()):
        return ""
    words = " and ".join(f"{name}={value}" for name, value in environment.items())
    return f"The program already runs with {words}."


def busy_share(diagnosis: Diagnosis | None) -> float | None:
    """Return the share of a step in which the GPU works; None where no diagnosis says.

    It counts from the step without the profiler, which lengthens the step and not the kernels.
    """
    if diagnosis is None or diagnosis.steps is None or diagnosis.now is None:
        return None
    now = diagnosis.now.us
    return min(diagnosis.steps.gpu_busy_us / now, 1.0) if now > 0 else None


def exports(environment: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return the shell's lines that set an environment, or unset what is None in it."""
    return tuple(
        f"unset {name}" if value is None else f"export {name}={value}"
        for name, value in environment.items()
    )


def one_of(name: str, parameter: str, allowed: tuple[str, ...]) -> str:
    """Return a parameter; raises UsageError unless it is one of those allowed."""
    if parameter not in allowed:
        raise UsageError(f"{name} takes {', '.join(allowed)}: write {name}:{allowed[0]}.")
    return parameter


def whole(name: str, parameter: str, least: int, most: int) -> int:
    """Read a parameter as a whole number; raises UsageError outside ``least`` to ``most``."""
    if parameter.isascii() and parameter.isdecimal() and least <= int(parameter) <= most:
        return int(parameter)
    raise UsageError(
        f"{name} takes a whole number from {least} to {most}: write for example {name}:{least}."
    )
