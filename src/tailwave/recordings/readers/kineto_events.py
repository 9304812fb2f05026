"""The events of a Kineto trace, typed, and how a block of them is decoded.

A block is decoded in one go. When that fails (a NaN, a string for a number, a key that should not
be null), its events are decoded one by one, and what remains unreadable is counted and left out.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any, TypeAlias, TypeGuard

import msgspec


class Args(msgspec.Struct, gc=False):
    """The arguments that are read of a complete event; absent ones are -1 or None."""

    correlation: int = -1
    stream: int = -1
    device: int = -1
    grid: tuple[int, ...] | None = None
    block: tuple[int, ...] | None = None
    registers: int = msgspec.field(default=-1, name="registers per thread")
    shared: int = msgspec.field(default=-1, name="shared memory")
    bytes: int = -1
    graph_node: int = msgspec.field(default=-1, name="graph node id")
    wait_on_stream: int = -1
    record_correlation: int = msgspec.field(default=-1, name="wait_on_cuda_event_record_corr_id")


_ARGUMENTS = msgspec.structs.fields(Args)


class Complete(msgspec.Struct, gc=False, tag_field="ph", tag="X"):
    """An event with a begin and a duration, both in microseconds."""

    name: str
    ts: float
    cat: str = ""
    pid: int | str = -1
    tid: int | str = -1
    dur: float = math.nan
    args: Args | None = None


class PreciseComplete(msgspec.Struct, gc=False, tag_field="ph", tag="X"):
    """As Complete, with times that keep all their decimals."""

    name: str
    ts: Decimal
    cat: str = ""
    pid: int | str = -1
    tid: int | str = -1
    dur: Decimal = Decimal("NaN")
    args: Args | None = None


class Metadata(msgspec.Struct, gc=False, tag_field="ph", tag="M"):
    """The name of a process or thread."""

    name: str = ""
    pid: int | str = -1
    tid: int | str = -1
    args: dict[str, Any] | None = None


class FlowBegin(msgspec.Struct, gc=False, tag_field="ph", tag="s"):
    """Where an arrow from a host call to GPU work begins."""

    ts: Decimal
    id: int | str = -1
    cat: str = ""
    pid: int | str = -1
    tid: int | str = -1


class FlowEnd(msgspec.Struct, gc=False, tag_field="ph", tag="f"):
    """Where an arrow ends."""

    ts: Decimal
    id: int | str = -1
    cat: str = ""
    pid: int | str = -1
    tid: int | str = -1


class Begin(msgspec.Struct, gc=False, tag_field="ph", tag="B"):
    """The begin of an event whose end is an event of its own; kept for pairing."""

    name: str
    ts: Decimal
    cat: str = ""
    pid: int | str = -1
    tid: int | str = -1
    args: Args | None = None


class End(msgspec.Struct, gc=False, tag_field="ph", tag="E"):
    """The end of the latest begin of its thread that has none yet."""

    ts: Decimal
    pid: int | str = -1
    tid: int | str = -1


def _ignored(letter: str) -> type[msgspec.Struct]:
    """Make a type for events whose content is not read."""
    name = f"Ignored_{ord(letter)}"
    return msgspec.defstruct(name, [], tag_field="ph", tag=letter, gc=False)


_FLOWLESS = tuple(_ignored(letter) for letter in "sf")
_OTHERS = tuple(_ignored(letter) for letter in "iICbnetPNODRcvVTpF()")
# A backslash of JSON with what it escapes, or one that escapes nothing.
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
# A start that has a fraction, in the text of a block.
_FRACTION = re.compile(rb'"ts"\s*+:\s*+"?-?\d++\.\d*[1-9eE]')
# Microseconds up to which a double holds nanoseconds exactly: its 53 bits, less ten for 1/1000.
_EXACT_US = float(1 << 43)
_JSON = json.JSONDecoder(strict=False, parse_float=Decimal)
Event: TypeAlias = msgspec.Struct
Split: TypeAlias = Callable[[bytes], Iterable[bytes]]
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class _UnusableError(Exception):
    """An event has to be left out; says why."""


class BlockDecoder:
    """Decodes blocks of events, keeping nanoseconds in whatever way the block needs."""

    def __init__(self, *, flows: bool) -> None:
        """Read flows only where they are needed: half of a trace's events are flows."""
        self._fast = _Decoder(Complete, flows=flows)
        self._exact = _Decoder(PreciseComplete, flows=flows)

    @property
    def left_out(self) -> Counter[str]:
        """Counts of what could not be read, by reason."""
        return self._fast.left_out

    def decode(self, block: bytes, split: Split) -> list[Event]:
        """Decode a block of events separated by commas; ``split`` cuts a block that won't."""
        pieces: list[bytes] | None = None  # splitting moves the stream on: it is done once
        try:
            events = self._fast.decode_all(block)
        except _UNREADABLE:
            pieces = list(split(block))
            events = self._fast.decode_each(pieces)
        if not _inexact(events, block):
            return events
        return self._exact.decode_all(block) if pieces is None else self._exact.decode_each(pieces)


def _inexact(events: Sequence[Any], block: bytes) -> bool:
    """Tell whether some times of a block are too large for a double to keep nanoseconds."""
    times = [e.ts for e in events if type(e) is Complete]
    if not times or _EXACT_US >= max(times) >= min(times) >= -_EXACT_US:
        return False
    return _FRACTION.search(block) is not None


class _Decoder:
    """Decodes events whose complete ones are of the given type."""

    def __init__(self, complete: type[Complete | PreciseComplete], *, flows: bool) -> None:
        union: Any = complete
        arrows = (FlowBegin, FlowEnd) if flows else _FLOWLESS
        for kind in (Metadata, *arrows, Begin, End, *_OTHERS):
            union |= kind
        self._list = msgspec.json.Decoder(list[union])
        self._one = msgspec.json.Decoder(union)
        self._complete = complete
        self.left_out: Counter[str] = Counter()

    def decode_all(self, block: bytes) -> list[Event]:
        events: list[Event] = self._list.decode(b"[" + block + b"]")
        return events

    def decode_each(self, pieces: Iterable[bytes]) -> list[Event]:
        return [event for raw in pieces if (event := self._decode_one(raw)) is not None]

    def _decode_one(self, raw: bytes) -> Event | None:
        try:
            event: Event = self._one.decode(raw)
        except _UNREADABLE:
            return self._mend_or_count(raw)
        return event

    def _mend_or_count(self, raw: bytes) -> Event | None:
        try:
            return self._mend(raw)
        except _UnusableError as error:
            self.left_out[str(error)] += 1
            return None

    def _mend(self, raw: bytes) -> Event | None:
        """Decode an event that is not quite JSON, or not quite of its type."""
        found = _lenient(raw)
        if found is None:
            raise _UnusableError("not JSON")
        if not isinstance(found, dict) or not isinstance(letter := found.get("ph"), str):
            raise _UnusableError("not an event, or of no phase (ph)")
        mend = {"X": self._mend_timed, "B": self._mend_timed, "E": _mend_end, "M": _mend_label}
        return mend[letter](found) if letter in mend else None

    def _mend_timed(self, found: dict[str, Any]) -> Event:
        name, args, category = found.get("name"), found.get("args"), found.get("cat")
        if not isinstance(name, str):
            raise _UnusableError("name missing or not a string")
        if not _is_number(found.get("ts")):
            raise _UnusableError("start missing or not a number")
        label = _printable(name), _printable(category) if isinstance(category, str) else ""
        pid, tid = _identifier(found.get("pid")), _identifier(found.get("tid"))
        numbers = _numbers(args) if isinstance(args, dict) else None
        if found["ph"] == "B":
            return Begin(label[0], Decimal(found["ts"]), label[1], pid, tid, numbers)
        if not _is_number(found.get("dur")):
            raise _UnusableError("duration missing or not a number")
        time: Any = float if self._complete is Complete else Decimal
        start, length = time(found["ts"]), time(found["dur"])
        return self._complete(label[0], start, label[1], pid, tid, length, numbers)


def _mend_end(found: dict[str, Any]) -> Event:
    if not _is_number(found.get("ts")):
        raise _UnusableError("end missing or not a number")
    return End(Decimal(found["ts"]), _identifier(found.get("pid")), _identifier(found.get("tid")))


def _mend_label(found: dict[str, Any]) -> Event | None:
    name, args = found.get("name"), found.get("args")
    label = args.get("name") if isinstance(args, dict) else None
    if not isinstance(name, str) or not isinstance(label, str):
        return None
    pid, tid = _identifier(found.get("pid")), _identifier(found.get("tid"))
    return Metadata(name, pid, tid, {"name": _printable(label)})


def _lenient(raw: bytes) -> object:
    """Decode with the standard library, which takes NaN and control characters; None if it fails.

    Backslashes that escape nothing, as in the paths of Windows, are taken for themselves.
    """
    text = raw.decode(errors="replace")
    found = _loads(text)
    if found is None and "\\" in text:
        found = _loads(_ESCAPE.sub(lambda match: match[0] if match[0] != "\\" else "\\\\", text))
    return found


def _loads(text: str) -> object:
    try:
        return _JSON.decode(text)
    except (ValueError, ArithmeticError, RecursionError):
        return None


def _printable(text: str) -> str:
    """Replace what has no place in a text, such as one half of a surrogate pair."""
    return text.encode(errors="replace").decode()


def _identifier(value: object) -> int | str:
    if value is None:
        return -1
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return _printable(str(value))


def _is_number(value: object) -> TypeGuard[int | str | Decimal]:
    if isinstance(value, bool) or not isinstance(value, int | str | Decimal):
        return False
    try:
        return math.isfinite(float(value)) and Decimal(value).is_finite()
    except (ValueError, OverflowError, ArithmeticError):
        return False


def _numbers(args: dict[str, Any]) -> Args:
    """Keep of the arguments those that are numbers, or lists of them, as they should be."""
    kept: dict[str, Any] = {}
    for field in _ARGUMENTS:
        value = args.get(field.encode_name)
        if field.name in {"grid", "block"}:
            if isinstance(value, list) and all(map(_is_number, value)):
                kept[field.name] = tuple(int(Decimal(side)) for side in value)
        elif _is_number(value):
            kept[field.name] = int(Decimal(value))
    return Args(**kept)


class Pairing:
    """Makes complete events of begins and ends, each end closing its thread's latest begin."""

    def __init__(self) -> None:
        """Start with no begin open."""
        self._open: dict[tuple[int | str, int | str], list[Begin]] = {}
        self.ends_alone = 0

    @property
    def begins_alone(self) -> int:
        """The number of begins that have no end so far."""
        return sum(map(len, self._open.values()))

    def add(self, event: Begin | End) -> PreciseComplete | None:
        """Take the next event of the file; return the event that it completes, if any."""
        thread = event.pid, event.tid
        if isinstance(event, Begin):
            self._open.setdefault(thread, []).append(event)
            return None
        if not self._open.get(thread):
            self.ends_alone += 1
            return None
        begin = self._open[thread].pop()
        length = _difference(event.ts, begin.ts)
        return PreciseComplete(begin.name, begin.ts, begin.cat, *thread, length, begin.args)


def _difference(end: Decimal, start: Decimal) -> Decimal:
    try:
        return end - start
    except ArithmeticError:  # exponents beyond all sense
        return Decimal("NaN")
