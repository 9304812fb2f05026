"""What speaks against a trial: company on the GPU, a clock held down, a quota in between.

A figure taken then says nothing of the program, so the trial is refused. The guards look from
outside (NVML), before a trial and between its runs, when nothing of ours is on the GPU: they make
no context and change nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from tailwave.cures import hami
from tailwave.cures.trials.visible import VARIABLE, Visibility, visible
from tailwave.errors import UnavailableError
from tailwave.figures import percent, quantity
from tailwave.gpu import (
    ClockReason,
    GpuId,
    GpuProcess,
    GpuState,
    NotSupportedError,
    Watch,
    open_watch,
)

_PROC: Final = Path("/proc")
_MPS: Final = "nvidia-cuda-mps"
# What a run leaves (a dying process, the last fraction of a second's utilisation) is gone by then.
_LOOKS, _PAUSE_S = 31, 0.1
# An idle GPU has a few MiB in use besides what the driver keeps for itself; one context takes
# hundreds (about 500 on an H200).
_CONTEXT_BYTES: Final = 128 << 20
# An idle GPU reads 0; one kernel of a monitor now and then reads a percent or two.
_IDLE: Final = 0.05
_MOST_NAMED: Final = 3
_COOLING: Final = "let it cool, see to its fans and air"
_HELD_DOWN: Final = {
    ClockReason.HW_THERMAL: _COOLING,
    ClockReason.SW_THERMAL: _COOLING,
    ClockReason.POWER_BRAKE: "see to its power supply",
    ClockReason.HW_SLOWDOWN: "see to its temperature and power supply",
}


def open_guards(environment: Mapping[str, str]) -> Guards:
    """Look at the GPUs of a program with this environment.

    Raises UnavailableError where there is no GPU, or none that the program would see. Where there
    is one and nothing can look at it, the guards say so in their notes.
    """
    try:
        return Guards(open_watch(), environment)
    except NotSupportedError as error:
        return Guards(None, environment, notes=(str(error),))


class Guards:
    """Looks for what speaks against going on. ``gpus`` are those that the program may use."""

    def __init__(
        self,
        watch: Watch | None,
        environment: Mapping[str, str],
        *,
        notes: Iterable[str] = (),
        places: Iterable[Path] = hami.PLACES,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Take what looks at the GPUs, None where nothing can, and the program's environment."""
        self._watch, self._environment = watch, environment
        self._places, self._pause = tuple(places), pause
        self._notes = dict.fromkeys(notes)
        all_gpus = watch.gpus() if watch is not None else ()
        self._visible = visible(all_gpus, environment) if watch is not None else Visibility((), 1)
        if not self._visible.number:
            raise UnavailableError(
                f"{VARIABLE}={environment.get(VARIABLE, '')} leaves the program no GPU: unset it, "
                "or name one that `nvidia-smi -L` lists."
            )
        wanted = set(self._visible.uuids)
        self.gpus = tuple(g for g in all_gpus if not wanted.isdisjoint((g.uuid, *g.instances)))

    @property
    def count(self) -> int:
        """How many GPUs the program will see; 1 where nothing can look."""
        return self._visible.number

    @property
    def driver(self) -> str:
        """The driver's version, "" if unknown."""
        return self._watch.driver if self._watch is not None else ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the trial should know, of all that was seen so far."""
        return tuple(self._notes)

    @property
    def mig(self) -> bool:
        """Whether a GPU of the program's is divided by MIG."""
        return any(gpu.instances for gpu in self.gpus)

    def check(self) -> None:
        """Look before a trial; raises UnavailableError that says what speaks against it."""
        against = self.against()
        if against:
            raise UnavailableError(against)

    def against(self) -> str:
        """Return the sentence that says what speaks against a run now, "" where nothing does."""
        if hami.shares_the_gpu(self._environment, self._places):
            return (
                f"HAMi ({hami.LIBRARY}) limits this container's share of the GPU, so times say "
                "what it grants and not what the program takes, and CUDA graphs would escape its "
                "quota: run the trial where the program has a GPU of its own."
            )
        try:
            return next(filter(None, map(self._against, self._visible.uuids)), "")
        except UnavailableError as error:  # the GPU has gone
            return str(error)

    def _against(self, uuid: str) -> str:
        """Look at one GPU until its company has gone, or has stayed too long for what a run left.

        A clock that is held down is told at once: after a pause it may look well, and the next run
        would hold it down again.
        """
        assert self._watch is not None  # noqa: S101 - without it there is no uuid
        company = ""
        for look in range(_LOOKS):
            if look:
                self._pause(_PAUSE_S)
            state = self._watch.state(uuid)
            self._note(uuid, state)
            company = self._company(uuid, state)
            held = _held_down(self._words(uuid), state)
            if held or not company:
                return held
        return company

    def _note(self, uuid: str, state: GpuState) -> None:
        where = self._words(uuid)
        if state.mig:
            self._notes[
                f"{_capital(where)} is divided by MIG: its instances share power and clock."
            ] = None
        if ClockReason.POWER_CAP in (state.clock_reasons or ()):
            self._notes[
                f"The power cap holds the clock of {where} down: the figures are for this cap."
            ] = None

    def _company(self, uuid: str, state: GpuState) -> str:
        """Say who else is on the GPU, "" where nobody is."""
        others = [p for p in state.processes or () if p.compute and not _is_expected(p.pid)]
        where, ways_out = self._words(uuid), self._ways_out()
        if others:
            return f"{_capital(', '.join(_named(others)))} on {where}: {ways_out}."
        hidden = _hidden(state)
        if hidden:
            return (
                f"{_capital(where)} has {hidden} while nothing of ours runs, so a process that "
                f"cannot be seen from here uses it: {ways_out}."
            )
        return ""

    def _ways_out(self) -> str:
        if self._visible.sure:
            return f"wait until it has ended, or give the program another GPU by {VARIABLE}"
        return (
            "wait until it has ended, or say which GPU the program uses "
            f"(CUDA_DEVICE_ORDER=PCI_BUS_ID, or {VARIABLE} by UUID)"
        )

    def _words(self, uuid: str) -> str:
        return next(filter(None, (_place(gpu, uuid) for gpu in self.gpus)), uuid)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _place(gpu: GpuId, uuid: str) -> str:
    if uuid == gpu.uuid:
        return f"GPU {gpu.index}"
    return f"the instance {uuid} of GPU {gpu.index}" if uuid in gpu.instances else ""


def _held_down(where: str, state: GpuState) -> str:
    """Say what holds the clock down, "" where it is free or cannot be read."""
    reasons = [reason for reason in _HELD_DOWN if reason in (state.clock_reasons or ())]
    if not reasons:
        return ""
    return (
        f"The clock of {where} is held down ({', '.join(reasons)}), so times would say nothing of "
        f"the program: {_HELD_DOWN[reasons[0]]}, and try again when "
        "`nvidia-smi -q -d PERFORMANCE` shows no slowdown."
    )


def _named(others: list[GpuProcess]) -> Iterator[str]:
    for other in others[:_MOST_NAMED]:
        name = _comm(other.pid)
        held = "" if other.memory_bytes is None else f" holds {quantity(other.memory_bytes, 'B')}"
        yield f"process {other.pid}{f' ({name})' if name else ''}{held or ' runs'}"
    if len(others) > _MOST_NAMED:
        yield f"{len(others) - _MOST_NAMED} more"


def _hidden(state: GpuState) -> str:
    """Say what a GPU is seen to do for processes that are not listed, "" for nothing.

    In a container the list may leave out all that is outside. One that draws may well be busy.
    """
    listed = state.processes or ()
    each = [process.memory_bytes for process in listed]
    unexplained = (state.memory_used_bytes or 0) - sum(held or 0 for held in each)
    if None not in each and unexplained >= _CONTEXT_BYTES:
        return f"{quantity(unexplained, 'B')} in use"
    draws = any(not process.compute for process in listed)
    if not draws and (state.utilization or 0.0) >= _IDLE:
        return f"kernels running for {percent(state.utilization or 0.0)} of the time"
    return ""


def _is_expected(pid: int) -> bool:
    """Tell whether a process may be there: it descends from us, or it is MPS's own server.

    A server that waits for clients runs nothing; clients are listed by themselves.
    """
    if _comm(pid).startswith(_MPS):
        return True
    while pid > 1:
        if pid == os.getpid():
            return True
        behind = _text(_PROC / str(pid) / "stat").rpartition(")")[2].split()
        pid = int(behind[1]) if behind else 0
    return False


def _comm(pid: int) -> str:
    """A process's name as the kernel keeps it, "" for one that cannot be seen."""
    return _text(_PROC / str(pid) / "comm").strip()


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
