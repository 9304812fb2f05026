"""Runs the program that is to be recorded, as the user would: same terminal, same folder."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

import msgspec

from tailwave.errors import UnavailableError

_INJECT: Final = Path(__file__).parents[1] / "hook" / "inject"
_BY_A_SIGNAL: Final = 128  # what a shell adds to the signal's number
_PASSED_ON: Final = (signal.SIGTERM, signal.SIGHUP)


def run(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> int:
    """Run it with the recorder in each of its Python processes, whose files go to the folder.

    Returns its exit code, as a shell would give it. Raises UnavailableError when there is no such
    command.
    """
    plan = folder / "plan.json"
    plan.write_bytes(msgspec.json.encode({"report": str(folder / "process")}))
    paths = [str(_INJECT), environment.get("PYTHONPATH", "")]
    changed = {
        **environment,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "TAILWAVE_RECORD": str(plan),
    }
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
