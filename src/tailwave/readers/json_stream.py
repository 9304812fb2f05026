"""Reads a big JSON trace in blocks: the other top-level values first or last, events in between.

Nothing but one block of events, and one top-level value, is in memory at a time. A block is cut
where one event seems to end and the next to begin; whether the cut was right shows when the block
is decoded, since a wrong one leaves brackets or strings open.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from tailwave.errors import UnreadableInputError

BLOCK_BYTES = 4 << 20
EVENTS_KEY = "traceEvents"
_GZIP_MAGIC = b"\x1f\x8b"
_SPACE = b" \t\r\n"
_KEY = re.compile(rb'\s*,?\s*"((?:[^"\\]|\\.)*)"\s*:\s*', re.DOTALL)
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]|"', re.DOTALL)
_BOUNDARY = re.compile(rb"}\s*,\s*{")
_LIST_END = ord("]")
# No recorder writes longer events (bytes); what seems longer has a bracket or quote missing.
_LONGEST_EVENT = 2 << 20
_SCALAR = re.compile(rb"[^,\]}\s]+")
# What other tools' files begin with, and what to do with them instead.
_FOREIGN = (
    (b"SQLite format 3", "it is an SQLite database (an nsys export?), not a PyTorch trace"),
    (b"==PROF==", "it is output of ncu, not a PyTorch trace"),
    (b'"ID","Process ID"', "it is a CSV page of ncu, not a PyTorch trace"),
    (b"NVR\x00", "it is an ncu report, not a PyTorch trace"),
)


class ByteSource:
    """A plain or gzip-compressed file, read on; knows how far it is on disk.

    ``cut`` turns True when the file ended before its compressed data did.
    """

    def __init__(self, path: Path) -> None:
        """Open the file; raises UnreadableInputError when that is refused."""
        self.path = path
        self.cut = False
        try:
            self._raw: IO[bytes] = path.open("rb")
            magic = self._raw.read(2)
            self._raw.seek(0)
            self.size = path.stat().st_size
        except OSError as error:
            raise UnreadableInputError(f"cannot read {path}: {error.strerror}.") from error
        self._file: IO[bytes] = self._raw
        if magic == _GZIP_MAGIC:
            self._file = gzip.GzipFile(fileobj=self._raw)  # type: ignore[assignment]

    @property
    def position(self) -> int:
        """Bytes of the file on disk that have been read."""
        return self._raw.tell()

    def read(self, size: int) -> bytes:
        """Return up to ``size`` bytes; what a cut file still gives is given."""
        try:
            return self._file.read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            self.cut = True
            return b""
        except OSError as error:
            raise UnreadableInputError(f"cannot read {self.path}: {error}.") from error

    def close(self) -> None:
        """Close the file."""
        self._raw.close()


class JsonStream:
    """Walks one JSON document and hands out the blocks of its list of events.

    ``values`` collects the other top-level values that are wanted; ``cut`` tells that the document
    ended early; ``has_events`` that it had a list of events.
    """

    def __init__(self, source: ByteSource, wanted: frozenset[str], block: int) -> None:
        """Prepare to read a document from a source, ``block`` bytes at a time."""
        self._source = source
        self._wanted = wanted
        self._block = block
        self._buffer = b""
        self.values: dict[str, Any] = {}
        self.cut = False
        self.has_events = False
        self._ended = False

    def blocks(self) -> Iterator[bytes]:
        """Yield blocks of whole events, separated by commas, without the list's brackets.

        The caller decodes each block; when that fails it calls ``split`` on it.
        """
        self._skip_space()
        if not self._buffer:
            raise UnreadableInputError(f"{self._source.path} is empty.")
        opening = self._buffer[:1]
        if opening == b"[":
            self._buffer = self._buffer[1:]
            yield from self._events()
        elif opening == b"{":
            self._buffer = self._buffer[1:]
            yield from self._members()
        else:
            raise UnreadableInputError(f"cannot read {self._source.path}: {self._foreign()}.")
        self.cut = self.cut or self._source.cut

    def _foreign(self) -> str:
        for magic, what in _FOREIGN:
            if self._buffer.startswith(magic):
                return what
        return "it is not JSON"

    def _fill(self, size: int) -> bool:
        more = self._source.read(size)
        self._buffer += more
        return bool(more)

    def _skip_space(self) -> None:
        self._buffer = self._buffer.lstrip(_SPACE + b"\xef\xbb\xbf")
        while not self._buffer and self._fill(self._block):
            self._buffer = self._buffer.lstrip(_SPACE + b"\xef\xbb\xbf")

    def _members(self) -> Iterator[bytes]:
        """Walk the members of the root object."""
        while True:
            match = _KEY.match(self._buffer)
            if match is None:
                if self._buffer.lstrip(_SPACE + b",").startswith(b"}"):
                    return
                if self._fill(self._block):
                    continue
                self.cut = True
                return
            key = match[1].decode(errors="replace")
            self._buffer = self._buffer[match.end() :]
            self._skip_space()
            if key == EVENTS_KEY and self._buffer.startswith(b"["):
                self._buffer = self._buffer[1:]
                yield from self._events()
            elif not self._value(key):
                self.cut = True
                return

    def _value(self, key: str) -> bool:
        """Read over one value, keeping it if it is wanted; False when the document ends in it."""
        size = self._block
        while (end := value_end(self._buffer, 0)) < 0 or end == len(self._buffer):
            if not self._fill(size):
                break
            size *= 2
        if end < 0:
            return False
        if key in self._wanted:
            try:
                self.values[key] = json.loads(self._buffer[:end].decode(errors="replace"))
            except (ValueError, RecursionError):
                self.values[key] = None
        self._buffer = self._buffer[end:]
        return True

    def _events(self) -> Iterator[bytes]:
        """Yield the blocks of the list that the buffer is in; leave what follows the list."""
        self.has_events = True
        self._ended = False
        size = self._block
        while not self._ended:
            more = self._fill(size)
            cut = _last_boundary(self._buffer) if more else len(self._buffer)
            if more and cut <= 0:  # one event larger than a block
                size *= 2
                continue
            size = self._block
            block, self._buffer = self._buffer[:cut], self._buffer[cut:]
            yield block.lstrip(_SPACE + b",")
            if not (more or self._ended or self._buffer):
                self.cut = self._ended = True

    def split(self, block: bytes) -> Iterator[bytes]:
        """Split a block that did not decode into its events, by counting brackets.

        Whatever follows the end of the list goes back to the stream, and so does an event that
        the block cuts. An event that does not end within the longest length is cut off where the
        next one seems to begin.
        """
        position = 0
        while True:
            while position < len(block) and block[position] in _SPACE + b",":
                position += 1
            if position >= len(block):
                return
            if block[position] == _LIST_END:
                self._ended = True
                self._buffer = block[position + 1 :] + self._buffer
                return
            end = value_end(block, position)
            if end < 0 and len(block) - position > _LONGEST_EVENT:
                joint = _BOUNDARY.search(block, position)
                end = joint.start() + 1 if joint else len(block)
            if end < 0:
                self._give_back(block[position:])
                return
            yield block[position:end]
            position = end

    def _give_back(self, rest: bytes) -> None:
        """Put an event that a block cut back before what follows, unless nothing follows."""
        if self._buffer or self._fill(self._block):
            self._buffer = rest + self._buffer
        else:
            self.cut = self._ended = True


def _last_boundary(buffer: bytes) -> int:
    """Where the last ``},{`` of a buffer is, as the position of its comma; -1 if there is none."""
    brace = len(buffer)
    while (brace := buffer.rfind(b"{", 0, brace)) > 0:
        comma = brace - 1
        while comma >= 0 and buffer[comma] in _SPACE:
            comma -= 1
        if comma < 0 or buffer[comma] != ord(","):
            continue
        close = comma - 1
        while close >= 0 and buffer[close] in _SPACE:
            close -= 1
        if close >= 0 and buffer[close] == ord("}"):
            return comma
    return -1


def value_end(buffer: bytes, position: int) -> int:
    """Where the JSON value that begins at a position ends; -1 if the buffer ends before it."""
    if position >= len(buffer):
        return -1
    if buffer[position] not in b'{["':
        match = _SCALAR.match(buffer, position)
        return match.end() if match else position + 1
    depth = 0
    for token in _TOKEN.finditer(buffer, position):
        text = token[0]
        if text in (b"{", b"["):
            depth += 1
        elif text in (b"}", b"]"):
            depth -= 1
        elif text == b'"':
            return -1
        if depth == 0:
            return token.end()
    return -1
