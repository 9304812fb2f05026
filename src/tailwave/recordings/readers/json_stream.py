"""Reads a big JSON trace in blocks: the other top-level values first or last, events in between.

Nothing but one block of events, and the wanted top-level values, is in memory at a time. A block
is cut where one event seems to end and the next to begin; whether the cut was right shows when the
block is decoded, since a wrong one leaves brackets or strings open.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tailwave.errors import UnreadableInputError
from tailwave.recordings.readers.byte_source import DAMAGED, ENDS_EARLY, TRACE_WANTED, ByteSource

BLOCK_BYTES = 1 << 19
EVENTS_KEY = "traceEvents"
ENDS_IN_EVENT = "ends in mid-event"
_SPACE = b" \t\r\n"
_SEPARATORS = _SPACE + b","
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_KEY = re.compile(rb"(" + _STRING + rb")\s*+:", re.DOTALL)
_TOKEN = re.compile(_STRING + rb'|[{}\[\]"]', re.DOTALL)
_SCALAR = re.compile(rb"[^,\[\]{}]*+")
_BOUNDARY = re.compile(rb"}\s*+(,)\s*+{")
_LIST_END = ord("]")
# No recorder writes more than this (bytes): what seems longer has a bracket or a quote missing.
_LONGEST_EVENT = 8 << 20
_LONGEST_VALUE = 32 << 20


class JsonStream:
    """Walks one JSON document and hands out the blocks of its list of events.

    ``values`` collects the other top-level values that are wanted; ``has_events`` tells that the
    document had a list of events; ``fault`` says what is wrong with it, if anything, as in "the
    file ends early": the walk is over there.
    """

    def __init__(self, source: ByteSource, wanted: frozenset[str], block: int) -> None:
        """Prepare to read a document from a source, ``block`` bytes at a time."""
        self._source = source
        self._wanted = wanted
        self._block = block
        self._size = block  # bytes to read next
        self._buffer = b""
        self._in_list = False
        self.values: dict[str, Any] = {}
        self.has_events = False
        self.fault = ""

    def blocks(self) -> Iterator[bytes]:
        """Yield blocks of whole events, each a JSON list.

        The caller decodes each block; when that fails it calls ``split`` on it.
        """
        self._skip_space()
        opening, self._buffer = self._buffer[:1], self._buffer[1:]
        if opening == b"[":
            yield from self._events()
        elif opening == b"{":
            yield from self._members()
        elif opening or not self._source.fault:
            what = "neither a JSON object nor a list" if opening else "empty"
            raise UnreadableInputError(f"{self._source.path} is {what}: {TRACE_WANTED}.")
        self._skip_space(also=b"}")
        if self._buffer and not self.fault:
            self.fault = DAMAGED  # what follows the end was within it
        if self._source.fault == DAMAGED or not self.fault:
            self.fault = self._source.fault or self.fault

    def _fill(self, size: int) -> bool:
        more = self._source.read(size)
        self._buffer += more
        return bool(more)

    def _skip_space(self, also: bytes = b"") -> None:
        skipped = _SPACE + _BYTE_ORDER_MARK + also
        self._buffer = self._buffer.lstrip(skipped)
        while not self._buffer and self._fill(self._block):
            self._buffer = self._buffer.lstrip(skipped)

    def _members(self) -> Iterator[bytes]:
        """Walk the members of the root object."""
        while not self.fault and (key := self._key()) is not None:
            self._skip_space()
            if key == EVENTS_KEY and self._buffer.startswith(b"["):
                self._buffer = self._buffer[1:]
                yield from self._events()
                continue
            value = self._value()
            if key in self._wanted:
                self.values[key] = _loads(value)

    def _key(self) -> str | None:
        """Read over the next key and its colon; None at the end of the object, or of sense."""
        self._skip_space(also=b",")
        while (match := _KEY.match(self._buffer)) is None:
            if self._buffer.startswith(b"}"):
                return None
            if not b'"'.startswith(self._buffer[:1]) or len(self._buffer) > _LONGEST_VALUE:
                self.fault = DAMAGED
                return None
            if not self._fill(max(self._block, len(self._buffer))):
                self.fault = ENDS_EARLY
                return None
        self._buffer = self._buffer[match.end() :]
        return match[1][1:-1].decode(errors="replace")

    def _value(self) -> bytes:
        """Take one value off the buffer; sets the fault when it does not end."""
        while (end := _value_end(self._buffer, 0)) < 0:
            if len(self._buffer) > _LONGEST_VALUE:
                self.fault = DAMAGED
                return b""
            if not self._fill(max(self._block, len(self._buffer))):
                self.fault = ENDS_EARLY
                return b""
        value, self._buffer = self._buffer[:end], self._buffer[end:]
        return value

    def _events(self) -> Iterator[bytes]:
        """Yield the blocks of the list that the buffer is in; leave what follows the list."""
        self.has_events = self._in_list = True
        self._size = self._block
        while self._in_list:
            more = self._fill(self._size)
            cut = _last_boundary(self._buffer) if more else len(self._buffer)
            if cut <= 0 and more and len(self._buffer) <= _LONGEST_EVENT:
                self._size *= 2  # one event larger than a block
                continue
            if cut <= 0:
                cut = len(self._buffer)
            self._size = self._block
            events = memoryview(self._buffer)[_skipped(self._buffer, 0) : cut]
            self._buffer = self._buffer[cut:]
            yield b"".join((b"[", events, b"]"))
            if not more and not self._buffer and self._in_list:
                self._stop(ENDS_IN_EVENT)

    def _stop(self, fault: str) -> None:
        """Note that the list is read no further."""
        self._in_list = False
        self.fault = fault

    def split(self, block: bytes) -> Iterator[bytes]:
        """Split a block that did not decode into its events, by counting brackets.

        Whatever follows the end of the list goes back to the stream, and so does an event that
        the block cuts. Where brackets and quotes make no sense, the list is read no further.
        """
        block = block[1:-1]
        position = 0
        while (position := _skipped(block, position)) < len(block):
            if block[position] == _LIST_END:
                self._in_list = False
                self._buffer = block[position + 1 :] + self._buffer
                return
            end = _value_end(block, position)
            if end == position or (end < 0 and len(block) - position > _LONGEST_EVENT):
                self._stop(DAMAGED)
                return
            if end < 0:
                if self._buffer or self._fill(self._block):
                    self._buffer = block[position:] + self._buffer
                    self._size = max(self._block, len(block) - position)
                else:
                    self._stop(ENDS_IN_EVENT)
                return
            yield block[position:end].rstrip(_SPACE)
            position = end


def _skipped(block: bytes, position: int) -> int:
    """Pass over white space and commas."""
    while position < len(block) and block[position] in _SEPARATORS:
        position += 1
    return position


def _value_end(buffer: bytes, position: int) -> int:
    """Where the value that begins at a position ends; -1 if that is beyond the buffer.

    The position itself for what is no value.
    """
    if buffer[position : position + 1] not in (b"{", b"[", b'"'):
        match = _SCALAR.match(buffer, position)
        end = match.end() if match else position
        return end if end < len(buffer) else -1
    depth = 0
    for token in _TOKEN.finditer(buffer, position):
        text = token[0]
        if text == b'"':  # a string that goes on beyond the buffer
            return -1
        if text in (b"{", b"["):
            depth += 1
        elif text in (b"}", b"]"):
            depth -= 1
        if depth == 0:
            return token.end()
    return -1


def _last_boundary(buffer: bytes) -> int:
    """Where the last ``},{`` of a buffer is, as the position of its comma; -1 if there is none."""
    window = 1 << 16
    while True:
        start = max(len(buffer) - window, 0)
        found = -1
        for match in _BOUNDARY.finditer(buffer, start):
            found = match.start(1)
        if found >= 0 or start == 0:
            return found
        window *= 8


def _loads(text: bytes) -> object:
    """Decode one value, as leniently as can be; None if it is no JSON."""
    try:
        return json.loads(text.decode(errors="replace"), strict=False)
    except (ValueError, RecursionError):
        return None
