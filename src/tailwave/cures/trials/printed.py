"""What a program printed, without what only a terminal understands."""

from __future__ import annotations

import re
from typing import Final

# ECMA-48: a control sequence (colours, moves of the cursor), a string for the terminal (a title, a
# link) up to its end, or another escape of two characters.
_ESCAPES: Final = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]"
)
_LINE_ENDS: Final = re.compile(r"\r\n?")
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_LONGEST_LINE: Final = 300


def plain(text: str) -> str:
    """Return a text without colours; each state that a progress bar wrote over is a line."""
    return _LINE_ENDS.sub("\n", _ESCAPES.sub("", text))


def last_line(text: str) -> str:
    """Return the last line that is not blank, as it can be shown to a person; "" for none."""
    for line in reversed(plain(text).split("\n")):
        shown = _CONTROLS.sub("", line).strip()
        if shown:
            return shown[:_LONGEST_LINE]
    return ""
