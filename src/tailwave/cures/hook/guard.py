"""A guard around everything that the hook does: what fails in it never reaches the program."""

from __future__ import annotations

import contextlib
from types import TracebackType

from tailwave.errors import TailwaveError


class Guard(contextlib.AbstractContextManager["Guard"]):
    """Swallows an exception of the hook's own work and keeps its words; the first ones matter.

    Interrupts and exits (KeyboardInterrupt, SystemExit) are the program's and pass.
    """

    def __init__(self) -> None:
        """Start with nothing to report."""
        self.error = ""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """Keep the words of an Exception; of one that is not ours also where it was raised."""
        if not isinstance(error, Exception):
            return False
        if isinstance(error, TailwaveError):  # a sentence for the user, where it was raised or not
            self.note(str(error))
            return True
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = f" ({trace.tb_frame.f_code.co_name}, line {trace.tb_lineno})" if trace else ""
        self.note(f"{type(error).__name__}: {error}{where}")
        return True

    def note(self, words: str) -> None:
        """Keep words about something that went wrong, unless something else did before."""
        self.error = self.error or words
