"""The ways in which a process ends, each with its report written first.

The way itself stays as it was: exit codes, tracebacks, the signal that ended it, the program's own
handlers. What remains is an end without warning (SIGKILL, a crash): for that the report is written
once a second of marks.
"""

from __future__ import annotations

import atexit
import os
import signal
from collections.abc import Callable
from types import FrameType

Handler = Callable[[int, FrameType | None], object] | int | None


def on_every_end(finish: Callable[[], None]) -> None:
    """Call ``finish`` when the process ends; it may be called more than once, and never raises."""
    atexit.register(finish)
    _before_os_exit(finish)
    _Termination(finish).install()


def _before_os_exit(finish: Callable[[], None]) -> None:
    leave = os._exit

    def _exit(status: int) -> None:
        """Exit to the system with the specified status, without normal exit processing."""
        finish()
        leave(status)

    os._exit = _exit  # type: ignore[assignment]


class _Termination:
    """Takes SIGTERM first, then gives it to whatever the program has chosen for it.

    The program sees its own choice, and not this: ``signal.signal`` and ``signal.getsignal`` answer
    for SIGTERM as if nothing had been put before it.
    """

    def __init__(self, finish: Callable[[], None]) -> None:
        self._finish = finish
        self._set, self._get = signal.signal, signal.getsignal
        self._chosen: Handler = self._get(signal.SIGTERM)

    def install(self) -> None:
        """Put this before the program's handler; one set outside of Python is left alone."""
        if self._chosen is None:
            return
        self._put()
        signal.signal = self._signal
        signal.getsignal = self._getsignal

    def _put(self) -> None:
        if self._chosen is not signal.SIG_IGN:
            self._set(signal.SIGTERM, self._terminate)

    def _signal(self, signalnum: int, handler: Handler) -> Handler:
        """Set the action for the given signal."""
        before = self._set(signalnum, handler)  # raises, as it would have, for what is no handler
        if signalnum != signal.SIGTERM:
            return before
        before, self._chosen = self._chosen, self._get(signal.SIGTERM)
        self._put()
        return before

    def _getsignal(self, signalnum: int) -> Handler:
        """Return the current action for the given signal."""
        current: Handler = self._get(signalnum)
        ours = signalnum == signal.SIGTERM and current == self._terminate
        return self._chosen if ours else current

    def _terminate(self, number: int, frame: FrameType | None) -> None:
        self._finish()
        if callable(self._chosen):
            self._chosen(number, frame)
        else:
            self._set(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
