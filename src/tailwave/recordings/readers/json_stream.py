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

BLOCK_BYTES = 4 << 20
EVENTS_KEY = "traceEvents"
ENDS_IN_EVENT = "ends in mid-event"
_SPACE = b" \t\r\n"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_KEY = re.compile(rb"(" + _STRING + rb")\s*+:", re.DOTALL)
_TOKEN = re.compile(_STRING + rb'|[{}\[\]"]', re.DOTALL)
_SCALAR = re.compile(rb"[^,\]}]+")
_BOUNDARY = re.compile(rb"}\s*+(,)\s*+{")
# Where an event begins for certain: by its first key in Kineto's order, or by what is before it.
_START = re.compile(rb'{\s*+"ph"\s*+:|}\s*+,\s*+(?={)')
_TAIL = re.compile(rb"]\s*+}?\s*+\Z")
# What may follow a list that ends where it should.
_AFTER_LIST = re.compile(rb'\s*+(?:}|,\s*+"|,?\s*+\Z)')
_OPENINGS = (b"{", b"[", b'"')
_EVENT_OPENING, _LIST_END = ord("{"), ord("]")
# No recorder writes more than this (bytes): what seems longer has a bracket or a quote missing.
_LONGEST_START = 256
_LONGEST_KEY = 1 << 16
_LONGEST_EVENT = 2 << 20
_LONGEST_STRING = 32 << 20
_LONGEST_WANTED = 1 << 20
# Events of which one argument holds objects: how long they may be (bytes).
_LONGEST_NESTED = 1 << 18
# How much is looked through in all (bytes) for the far ends of damaged events: it takes time.
_FAR_BYTES = 32 << 20
# How often reading goes on after damage that ends the list.
_RESUMPTIONS = 64


class JsonStream:
    """Walks one JSON document and hands out the blocks of its list of events.

    ``values`` collects the other top-level values that are wanted; ``has_events`` tells that the
    document had a list of events; ``fault`` says what is wrong with it, if anything, as in "the
    file ends early"; ``gaps`` counts the places where damage was passed over.
    """

    def __init__(self, source: ByteSource, wanted: frozenset[str], block: int) -> None:
        """Prepare to read a document from a source, ``block`` bytes at a time."""
        self._source = source
        self._wanted = wanted
        self._block = block
        self._size = block  # bytes to read next
        self._buffer = b""
        self._ended = False  # the list of events has
        self._far_bytes = _FAR_BYTES
        self._resumptions = _RESUMPTIONS
        self.values: dict[str, Any] = {}
        self.has_events = False
        self.fault = ""
        self.gaps = 0

    def blocks(self) -> Iterator[bytes]:
        """Yield blocks of whole events, separated by commas, without the list's brackets.

        The caller decodes each block; when that fails it calls ``split`` on it.
        """
        self._skip_space()
        opening, self._buffer = self._buffer[:1], self._buffer[1:]
        if opening in (b"[", b"{"):
            yield from self._events() if opening == b"[" else self._members()
            while self._resumes():
                yield from self._events()
                if opening == b"{" and not self.fault:
                    yield from self._members()
        elif opening or not self._source.fault:
            what = "neither a JSON object nor a list" if opening else "empty"
            raise UnreadableInputError(f"{self._source.path} is {what}: {TRACE_WANTED}.")
        if self._source.fault == DAMAGED or not self.fault:
            self.fault = self._source.fault

    def _resumes(self) -> bool:
        """Tell whether events follow what seemed the document's end, and go to the first."""
        if self.fault == ENDS_IN_EVENT or self._resumptions == 0:
            return False
        while (match := _START.search(self._buffer)) is None:
            self._buffer = self._buffer[-_LONGEST_START:]
            if not self._fill(self._block):
                return False
        self._buffer = self._buffer[_event_start(match) :]
        self._resumptions -= 1
        self.fault = ""
        self.gaps += 1
        return True

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
        while (key := self._key()) is not None:
            self._skip_space()
            if key == EVENTS_KEY and self._buffer.startswith(b"["):
                self._buffer = self._buffer[1:]
                yield from self._events()
            else:
                self._value(key)
            if self.fault:
                return

    def _key(self) -> str | None:
        """Read over the next key and its colon; None at the end of the object, or of sense."""
        self._skip_space(also=b",")
        while (match := _KEY.match(self._buffer)) is None:
            if self._buffer.startswith(b"}"):
                return None
            if len(self._buffer) > _LONGEST_KEY or not b'"'.startswith(self._buffer[:1]):
                self.fault = DAMAGED
                return None
            if not self._fill(self._block):
                self.fault = ENDS_EARLY
                return None
        self._buffer = self._buffer[match.end() :]
        return match[1][1:-1].decode(errors="replace")

    def _value(self, key: str) -> None:
        """Read over one value, keeping it if it is wanted.

        What was kept of a value that does not end goes back to the buffer: it may hold events.
        """
        kept = b""
        for piece in self._value_pieces():
            kept += piece if key in self._wanted else b""
            if len(kept) > _LONGEST_WANTED:
                self.fault = DAMAGED
                break
        if self.fault:
            self._buffer = kept + self._buffer
        elif key in self._wanted:
            self.values[key] = _loads(kept)

    def _value_pieces(self) -> Iterator[bytes]:
        """Take one value off the buffer, in pieces; sets the fault when it does not end."""
        if self._buffer[:1] not in _OPENINGS:
            yield self._scalar()
            return
        depth = 0
        while True:
            depth, end = _walk(self._buffer, depth, 0, len(self._buffer))
            piece, self._buffer = self._buffer[:end], self._buffer[end:]
            yield piece
            if depth == 0 and end:
                return
            if len(self._buffer) > _LONGEST_STRING:
                self.fault = DAMAGED
                return
            if not self._fill(max(self._block, len(self._buffer))):
                self.fault = ENDS_EARLY
                return

    def _scalar(self) -> bytes:
        while (match := _SCALAR.match(self._buffer)) and match.end() == len(self._buffer):
            if len(self._buffer) > _LONGEST_STRING or not self._fill(self._block):
                break
        end = match.end() if match else 0
        scalar, self._buffer = self._buffer[:end], self._buffer[end:]
        return scalar

    def _events(self) -> Iterator[bytes]:
        """Yield the blocks of the list that the buffer is in; leave what follows the list."""
        self.has_events = True
        self._ended = False
        self._size = self._block
        while not self._ended:
            more = self._fill(self._size)
            cut = _last_boundary(self._buffer) if more else len(self._buffer)
            if cut <= 0 and more and len(self._buffer) < 2 * _LONGEST_EVENT:
                self._size *= 2  # one event larger than a block
                continue
            if cut <= 0:
                cut = len(self._buffer)
            self._size = self._block
            block, self._buffer = self._buffer[:cut], self._buffer[cut:]
            yield block.lstrip(_SPACE + b",")
            if not (more or self._ended or self._buffer):
                self._stop()

    def _stop(self) -> None:
        """Note that the file ended before the list did."""
        self._ended = True
        self.fault = ENDS_IN_EVENT

    def split(self, block: bytes) -> Iterator[bytes]:
        """Split a block that did not decode into its events, by counting brackets.

        What is no event ends where the next one begins. Whatever follows the end of the list goes
        back to the stream, and so does an event that the block cuts.
        """
        position = near = 0
        while (position := _skipped(block, position)) < len(block):
            if near <= position:
                boundary = _BOUNDARY.search(block, position)
                near = boundary.start() + 1 if boundary else len(block)
            if block[position] == _LIST_END and self._list_ends(block, position + 1):
                self._ended = True
                self._buffer = block[position + 1 :] + self._buffer
                return
            if block[position] == _EVENT_OPENING:
                end = self._event_end(block, position, near)
            else:
                end = _junk_end(block, position)
            if end < 0:
                self._give_back(block[position:])
                return
            yield block[position:end].rstrip(_SPACE + b",")
            position = end

    def _list_ends(self, block: bytes, after: int) -> bool:
        """Tell a list's end from a bracket too many, by what follows."""
        match = _AFTER_LIST.match(block, after)
        if match is None or match.end() < len(block) or not self._has_more():
            return match is not None
        return _AFTER_LIST.match(self._buffer) is not None

    def _event_end(self, block: bytes, position: int, near: int) -> int:
        """Where the event at a position ends; -1 if the rest of it may be in the next block.

        Where brackets and quotes make no sense, it ends where the next one seems to begin: near.
        """
        end = _value_end(block, position, near)
        if end >= 0 or self._far_bytes <= 0:
            return near if end < 0 else end
        far = min(position + _LONGEST_NESTED, len(block))
        end = _value_end(block, position, far)
        if end >= 0 and _is_json(block[position:end]):
            return end
        if end < 0 and far == len(block) and (near == far or self._has_more()):
            return -1
        self._far_bytes -= far - position
        return near

    def _has_more(self) -> bool:
        return bool(self._buffer) or self._fill(self._block)

    def _give_back(self, rest: bytes) -> None:
        """Put an event that a block cut back before what follows, unless nothing follows."""
        if self._has_more():
            self._buffer = rest + self._buffer
            self._size = max(self._block, len(rest))
        else:
            self._stop()


def _skipped(block: bytes, position: int) -> int:
    """Pass over white space and commas."""
    while position < len(block) and block[position] in _SPACE + b",":
        position += 1
    return position


def _event_start(match: re.Match[bytes]) -> int:
    """Where the event begins that _START found."""
    return match.start() if match[0].startswith(b"{") else match.end()


def _junk_end(block: bytes, position: int) -> int:
    """Where what is no event ends: at the next event, the end of the document or of the block."""
    if match := _START.search(block, position):
        return _event_start(match)
    tail = _TAIL.search(block, position + 1)
    return tail.start() if tail else len(block)


def _value_end(buffer: bytes, position: int, limit: int) -> int:
    """Where the object that begins at a position ends; -1 if that is beyond the limit."""
    depth, end = _walk(buffer, 0, position, limit)
    return end if depth == 0 and end > position else -1


def _walk(buffer: bytes, depth: int, position: int, limit: int) -> tuple[int, int]:
    """Walk through a value until it closes, or its brackets and whole strings run out.

    Takes the number of brackets open at the position; returns how many are then open, and where.
    """
    for token in _TOKEN.finditer(buffer, position, limit):
        text = token[0]
        if text == b'"':  # a string that goes on beyond the limit
            return depth, token.start()
        if text in (b"{", b"["):
            depth += 1
        elif text in (b"}", b"]"):
            depth -= 1
        if depth == 0:
            return depth, token.end()
    return depth, limit


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


def _is_json(text: bytes) -> bool:
    return _loads(text) is not None
