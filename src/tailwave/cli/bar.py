"""A bar on stderr, drawn when somebody is looking."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn


class Bar:
    """What is going on, how far it is, and for how long it has been; gone when it ends.

    Lines printed to its console stand above it.
    """

    def __init__(self, total: int, *, words: str = "{task.description}", width: int = 40) -> None:
        """Draw nothing yet; ``words`` is how rich formats what is going on."""
        self.console = Console(stderr=True, highlight=False)
        self.is_seen = sys.stderr.isatty()
        columns: tuple[ProgressColumn, ...] = (
            TextColumn(words),
            BarColumn(width),
            TimeElapsedColumn(),
        )
        self._drawn = Progress(
            *columns, console=self.console, transient=True, disable=not self.is_seen
        )
        self._task = self._drawn.add_task("", total=total)

    def __enter__(self) -> Self:
        """Start drawing."""
        self._drawn.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        self._drawn.stop()

    def update(self, words: str, done: int, total: int | None = None) -> None:
        """Say what is going on now, and how much is done."""
        self._drawn.update(self._task, description=words, completed=done, total=total)
