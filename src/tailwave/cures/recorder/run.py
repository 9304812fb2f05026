"""Runs the program that is to be recorded, as the user would: same terminal, same folder."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

import msgspec

from tailwave.cures.hook import hooked
from tailwave.cures.library.torch_profile import LONGEST_S
from tailwave.errors import UnavailableError

# What torch's profiler records: steps after the first ones, which warm up; of a program without
# marks all from when CUDA has come up on, as long as the profiler goes on at most (``LONGEST_S``).
_PROFILE: Final = {"after_steps": 10, "steps": 30, "after_seconds": 0.1, "seconds": LONGEST_S}
_BY_A_SIGNAL: Final = 128  # what a shell adds to the signal's number
_PASSED_ON: Final = (signal.SIGTERM, signal.SIGHUP)


def run(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> int:
    """Run it with the recorder in each of its Python processes, whose files go to the folder.

    Returns its exit code, as a shell would give it. Raises UnavailableError when there is no such
    command.
    """
    plan = folder / "plan.json"
    profile = {"trace": str(folder / "trace.json"), **_PROFILE}
    wanted = {"report": str(folder / "report"), "tasks": (), "profile": profile, "record": True}
    plan.write_bytes(msgspec.json.encode(wanted))
    changed = hooked(environment, plan)
    try:
        program = subprocess.Popen(command, env=changed)  # noqa: S603 - what the user names
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UnavailableError(f"cannot run {command[0]}: {why}.") from error
    with _signals_for(program):
        code = program.wait()
    return code if code >= 0 else _BY_A_SIGNAL - code


@contextmanager
def _signals_for(program: subprocess.Popen[bytes]) -> Iterator[None]:
    """Leave it to the program to end: what it recorded is written after that.

    An interrupt from the terminal reaches the program by itself; other requests are passed on.
    """

    def pass_on(number: int, frame: FrameType | None) -> None:
        del frame
        program.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in _PASSED_ON}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
