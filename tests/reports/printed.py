"""What a report prints, as text."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TypeVar

from rich.console import Console

Subject = TypeVar("Subject")


def printed(
    render: Callable[[Subject, Console], None],
    subject: Subject,
    encoding: str = "utf-8",
    *,
    columns: int = 80,
) -> str:
    """Return what a report prints on a console of so many columns without colour."""
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding=encoding)
    render(subject, Console(file=stream, width=columns, highlight=False, legacy_windows=False))
    stream.flush()
    return written.getvalue().decode(encoding)
