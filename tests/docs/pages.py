"""The pages that users read, and the blocks in them: commands, transcripts, Python, text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.places import ROOT

PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "integrations" / "comfyui" / "README.md",
)
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block: its language, its text, and where it stands."""

    page: str
    line: int
    language: str
    text: str

    @property
    def where(self) -> str:
        """The page and the line."""
        return f"{self.page}:{self.line}"


class Command(NamedTuple):
    """One call of a program: its words, and what a transcript shows that it printed."""

    where: str
    words: tuple[str, ...]
    shown: str | None = None


def name_of(page: Path) -> str:
    """Name a page by its path from the root."""
    return str(page.relative_to(ROOT))


def blocks(*languages: str) -> list[Block]:
    """Return the blocks of some languages, of every page."""
    return [
        Block(name_of(page), text.count("\n", 0, found.start()) + 1, *found.groups())
        for page in PAGES
        for text in [page.read_text("utf-8")]
        for found in _FENCE.finditer(text)
        if found[1] in languages or not languages
    ]


def commands() -> list[Command]:
    """Return every command: those that pages say to type, those of transcripts, those of CI."""
    found = [command for block in blocks("sh") for command in _calls(block.where, block.text)]
    for block in blocks("console"):
        for prompt, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
            *_, last = _calls(block.where, prompt)
            found.append(last._replace(shown=shown or None))
    for workflow in sorted((ROOT / "examples" / "ci").iterdir()):
        for line in re.findall(r"^ *- run: (.*)$", workflow.read_text("utf-8"), re.MULTILINE):
            found += _calls(name_of(workflow), line)
    return found


def _calls(where: str, text: str) -> Iterator[Command]:
    """Split lines of a shell at what stands between two calls, and drop where output goes."""
    for line in re.sub(r"[\\|]\n", "|", text).splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="&|;<>")
        lexer.whitespace_split = True
        words: list[str] = []
        for word in (*lexer, ";"):
            if word not in ("&&", "|", ";"):
                words.append(word)
                continue
            if ">" in words:
                del words[words.index(">") :]
            if words:
                yield Command(where, tuple(words))
            words = []
