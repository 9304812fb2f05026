"""Runs one program and sees to it that nothing of it is left, by a process of its own.

This file is that process's script (``main``), and what tailwave calls (``start``, ``end``). It
stands between tailwave and the program, and ends what the program started whatever happens:
when the program has ended, when it is told to end (SIGTERM), and when tailwave dies, of which the
kernel tells it by the same signal. Descendants that were left by their parents, in whatever
session, become its own children, so that it can find them. Should it be killed itself, the kernel
kills the program.

``supervisor.py PARENT RESULT COMMAND...`` writes to RESULT, as JSON, the program's exit ``code``
(negative: the signal that ended it), the ``seconds`` it ran, or an ``error`` when there was nothing
to run.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

# From <sys/prctl.h>.
_DIE_WITH_PARENT: Final = 1
_ADOPT_ORPHANS: Final = 36
_GRACE_S = 3.0  # between asking a program to end and killing it
_END_S = 10.0  # for a supervisor that is to end; its own grace is shorter
_ENDINGS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
_WATCHED = _ENDINGS | {signal.SIGCHLD}


def start(
    command: Sequence[str],
    environment: Mapping[str, str],
    result: Path,
    output: int = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Start a command under a supervisor, in a session of its own and without standard input.

    ``output`` is where both its outputs go. It ends with the thread that started it.
    """
    script = [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(result)]
    return subprocess.Popen(  # noqa: S603 - running what the user names is the task
        [*script, *command],
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
    )


def end(process: subprocess.Popen[bytes]) -> None:
    """End a supervisor, and with it all of its program; does nothing when they have ended."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def main() -> None:
    """Run the command given on the command line."""
    parent, result, command = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    libc = ctypes.CDLL(None)
    libc.prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)
    libc.prctl(_DIE_WITH_PARENT, signal.SIGTERM, 0, 0, 0)
    # Blocked signals wait to be asked for, so that none is missed between two statements.
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    if os.getppid() != parent:
        return

    def become_the_program() -> None:
        libc.prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED)

    began = time.perf_counter()
    try:
        # Between fork and exec there is only this thread, and no lock that it could wait for.
        program = subprocess.Popen(  # noqa: S603 - running what the user names is the task
            command,
            process_group=0,
            preexec_fn=become_the_program,  # noqa: PLW1509
        )
    except (OSError, ValueError) as error:
        _write(result, {"error": getattr(error, "strerror", None) or str(error)})
        return
    code, ended = _wait(program.pid)
    program.returncode = code
    _sweep(program.pid)
    _write(result, {"code": code, "seconds": ended - began})


def _wait(pid: int) -> tuple[int, float]:
    """Wait for the program's end, hurried when told to: its exit code, and the time of the end."""
    deadline: float | None = None
    while True:
        code = _reaped(pid)
        if code is not None:
            return code, time.perf_counter()
        left = None if deadline is None else deadline - time.perf_counter()
        if left is not None and left <= 0:
            _signal_group(pid, signal.SIGKILL)
            deadline = None
            continue
        got = signal.sigwaitinfo(_WATCHED) if left is None else signal.sigtimedwait(_WATCHED, left)
        if got is not None and got.si_signo in _ENDINGS and deadline is None:
            _signal_group(pid, signal.SIGTERM)
            deadline = time.perf_counter() + _GRACE_S


def _reaped(pid: int) -> int | None:
    """Bury whoever has died; the program's exit code if it is among them."""
    code = None
    while True:
        try:
            dead, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if dead == 0:
            return code
        if dead == pid:
            code = os.waitstatus_to_exitcode(status)


def _sweep(pid: int) -> None:
    """Kill all that the program has left behind, and wait until it is gone."""
    _signal_group(pid, signal.SIGKILL)
    while True:
        for child in _children():
            os.kill(child, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _signal_group(pid: int, number: signal.Signals) -> None:
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return


def _children() -> list[int]:
    """List this process's children: the parent is the second field behind a process's name."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                behind = (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            except OSError:
                continue  # it has just ended
            if int(behind[1]) == os.getpid():
                found.append(int(entry.name))
    return found


def _write(path: Path, result: dict[str, object]) -> None:
    try:
        path.write_text(json.dumps(result), "utf-8")
    except OSError:
        return  # tailwave died and its folder is gone: there is nobody to tell


if __name__ == "__main__":
    main()
