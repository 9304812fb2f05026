"""An MPS daemon of our own, for the processes of one run and for no longer.

It is started in the foreground, with folders of its own, under the supervisor that ends it with
everything that it started: when the run is over, and when tailwave dies.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from tailwave.cures.trials import supervisor
from tailwave.cures.trials.visible import VARIABLE
from tailwave.errors import UnavailableError

_BINARY: Final = "nvidia-cuda-mps-control"
_COMM: Final = "nvidia-cuda-mps"  # the kernel keeps 15 letters of a process's name
_PIPES, _LOGS = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"
_SHARE: Final = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"
_USUAL_PIPES: Final = "/tmp/nvidia-mps"  # noqa: S108 - where a daemon's pipes are by default
_SOCKET: Final = "control"  # in the folder of the pipes, once the daemon listens
_START_S, _QUIT_S = 10.0, 5.0
_POLL_S: Final = 0.02


def why_not(environment: Mapping[str, str], *, mig: bool, proc: Path = Path("/proc")) -> str:
    """Return the sentence that says why no daemon can be started, "" where one can."""
    if shutil.which(_BINARY, path=environment.get("PATH")) is None:
        return (
            f"MPS needs {_BINARY}, which comes with the driver: it is not on PATH here "
            "(a container may lack it: NVIDIA_DRIVER_CAPABILITIES=compute,utility)."
        )
    if mig:
        return "The GPU is divided by MIG, and a daemon for one instance is the administrator's."
    pipes = Path(environment.get(_PIPES, _USUAL_PIPES))
    if (pipes / _SOCKET).exists() or _runs(proc):
        return (
            f"An MPS daemon is here already ({pipes}), and it is not ours to stop: the program's "
            f"share of it is set by {_SHARE} (try env:{_SHARE}=50)."
        )
    return ""


@contextmanager
def daemon(environment: Mapping[str, str], folder: Path, percent: int) -> Iterator[dict[str, str]]:
    """Start a daemon for a program with this environment; gives what to add to that.

    The files are in ``folder``, whose path must be short: a socket's has at most 107 letters.
    Raises UnavailableError when the daemon does not start. It ends with the thread that started it.
    """
    pipes, logs = folder / "mps", folder / "mps-log"
    for made in (pipes, logs):
        made.mkdir(mode=0o700)
    own = {_PIPES: str(pipes), _LOGS: str(logs)}
    own_environment = {**_for_daemon(environment), **own}
    command = (_found(environment), "-f")
    process = supervisor.start(command, own_environment, folder / "mps.json")
    try:
        _await(process, pipes / _SOCKET, logs)
        yield {**own, _SHARE: str(percent)}
    finally:
        try:
            if process.poll() is None:
                _quit(process, {**environment, **own})
        finally:
            supervisor.end(process)
        for made in (pipes, logs):
            shutil.rmtree(made, ignore_errors=True)


def _runs(proc: Path) -> bool:
    """Tell whether a daemon or server of MPS is among the processes that can be seen."""
    for entry in proc.glob("[0-9]*/comm"):
        with suppress(OSError):  # it has just ended
            if entry.read_text("utf-8", "replace").startswith(_COMM):
                return True
    return False


def _for_daemon(environment: Mapping[str, str]) -> dict[str, str]:
    """The program's environment, without GPUs by number: a daemon would count them anew."""
    chosen = environment.get(VARIABLE, "")
    if not any(entry.strip().isdecimal() for entry in chosen.split(",")):
        return dict(environment)
    return {name: value for name, value in environment.items() if name != VARIABLE}


def _found(environment: Mapping[str, str]) -> str:
    return shutil.which(_BINARY, path=environment.get("PATH")) or _BINARY


def _await(process: subprocess.Popen[bytes], socket: Path, logs: Path) -> None:
    """Wait until the daemon listens."""
    deadline = time.monotonic() + _START_S
    while not socket.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise UnavailableError(
                f"The MPS daemon did not start{_last_word(logs)}: try `{_BINARY} -f` by hand."
            )
        time.sleep(_POLL_S)


def _last_word(logs: Path) -> str:
    """Return what the daemon's log said last, in brackets; "" for nothing."""
    try:
        lines = (logs / "control.log").read_text("utf-8", "replace").split("\n")
    except OSError:
        return ""
    said = [line.strip() for line in lines if line.strip()]
    return f" ({said[-1]})" if said else ""


def _quit(process: subprocess.Popen[bytes], environment: Mapping[str, str]) -> None:
    """Ask the daemon to end."""
    with suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(  # noqa: S603 - the driver's own program, as found on PATH
            [_found(environment)],
            input=b"quit\n",
            env=dict(environment),
            capture_output=True,
            timeout=_QUIT_S,
            check=False,
        )
        process.wait(_QUIT_S)
