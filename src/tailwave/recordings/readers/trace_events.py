"""The events of a trace in Chrome's Trace Event Format, typed, and how a block of them is decoded.

A block is decoded in one go. When that fails (a NaN, a string for a number, a key that should not
be null), its events are decoded one by one, and what remains unreadable is counted and left out.
Times are in microseconds, as the format has them.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any, Generic, TypeAlias, TypeGuard, TypeVar

import msgspec

# Of an event: the text that ``arguments`` decodes for Kineto's, a dict for what is translated.
Arguments = TypeVar("Arguments")
_ABSENT: Any = None


class Args(msgspec.Struct, gc=False):
    """The arguments that are read of Kineto's events; absent ones are -1 or None."""

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


class Complete(msgspec.Struct, Generic[Arguments], gc=False, kw_only=True, tag_field="ph", tag="X"):
    """An event with a begin and a duration.

    The fields stand in the order of Kineto's, where the decoder looks for them first.
    """

    cat: str = ""
    name: str
    pid: int | str = -1
    tid: int | str = -1
    ts: float
    dur: float = math.nan
    args: Arguments = _ABSENT


class PreciseComplete(
    msgspec.Struct, Generic[Arguments], gc=False, kw_only=True, tag_field="ph", tag="X"
):
    """As Complete, with times that keep all their decimals."""

    cat: str = ""
    name: str
    pid: int | str = -1
    tid: int | str = -1
    ts: Decimal
    dur: Decimal = Decimal("NaN")
    args: Arguments = _ABSENT


class Metadata(msgspec.Struct, gc=False, tag_field="ph", tag="M"):
    """The name of a process or thread."""

    name: str = ""
    pid: int | str = -1
    tid: int | str = -1
    args: dict[str, Any] | None = None


class _Flow(msgspec.Struct, gc=False):
    """One end of an arrow from a host call to GPU work."""

    ts: Decimal
    id: int | str = -1
    cat: str = ""
    pid: int | str = -1
    tid: int | str = -1


class FlowBegin(_Flow, gc=False, tag_field="ph", tag="s"):
    """Where an arrow begins."""


class FlowEnd(_Flow, gc=False, tag_field="ph", tag="f"):
    """Where an arrow ends."""


class Begin(msgspec.Struct, Generic[Arguments], gc=False, kw_only=True, tag_field="ph", tag="B"):
    """The begin of an event whose end is an event of its own; kept for pairing."""

    cat: str = ""
    name: str
    pid: int | str = -1
    tid: int | str = -1
    ts: Decimal
    args: Arguments = _ABSENT


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
# Microseconds up to which a double holds nanoseconds exactly, its 53 bits, less ten for 1/1000; and
# less eleven days, which no recording lasts, so that its first times tell how long all of them are.
_EXACT_US = float(1 << 43) - 1e12
_JSON = json.JSONDecoder(strict=False, parse_float=Decimal)
_ARGS = msgspec.json.Decoder(Args | None)
_MANY_ARGS = msgspec.json.Decoder(list[Args | None])
_NO_ARGS = Args()
Event: TypeAlias = msgspec.Struct
Split: TypeAlias = Callable[[bytes], Iterable[bytes]]
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class _UnusableError(Exception):
    """An event has to be left out; says why."""


class BlockDecoder:
    """Decodes blocks of events, keeping nanoseconds in whatever way the trace needs.

    ``left_out`` counts what could not be read, by reason.
    """

    def __init__(self, arguments: Any = msgspec.Raw, *, flows: bool = False) -> None:  # noqa: ANN401 - a type
        """Take the type of the arguments, and read flows only on demand: they are half a trace."""
        self.left_out: Counter[str] = Counter()
        self._typed = arguments is msgspec.Raw
        # The text of arguments is a view of its block, which a begin would keep in memory.
        kept: Any = Args | None if self._typed else arguments
        other: Any = Metadata | Begin[kept] | End
        for kind in ((FlowBegin, FlowEnd) if flows else _FLOWLESS) + _OTHERS:
            other |= kind
        self._fast = msgspec.json.Decoder(list[Complete[arguments] | other])
        self._exact = msgspec.json.Decoder(list[PreciseComplete[arguments] | other])
        self._one = msgspec.json.Decoder(PreciseComplete[arguments] | other)
        self._long: bool | None = None  # whether times are; not known before the first

    def decode(self, block: bytes, split: Split) -> list[Event]:
        """Decode a block, a list of events; ``split`` cuts a block that won't."""
        try:
            if self._long and _FRACTION.search(block):
                return self._exact.decode(block)
            events: list[Event] = self._fast.decode(block)
            if self._long is None and (times := [e.ts for e in events if type(e) is Complete]):
                self._long = max(times) > _EXACT_US or min(times) < -_EXACT_US
                return self.decode(block, split) if self._long else events
        except _UNREADABLE:
            return [event for raw in split(block) if (event := self._decode_one(raw)) is not None]
        return events

    def _decode_one(self, raw: bytes) -> Event | None:
        try:
            event: Event = self._one.decode(raw)
        except _UNREADABLE:
            try:
                return self._mend(raw)
            except _UnusableError as error:
                self.left_out[str(error)] += 1
                return None
        return event

    def _mend(self, raw: bytes) -> Event | None:
        """Decode an event that is not quite JSON, or not quite of its type."""
        found = _lenient(raw)
        if found is None:
            raise _UnusableError("not JSON")
        if found == {}:  # with which JAX ends a list, after its last comma
            return None
        if not isinstance(found, dict) or not isinstance(letter := found.get("ph"), str):
            raise _UnusableError("not an event, or of no phase (ph)")
        row = _identifier(found.get("pid")), _identifier(found.get("tid"))
        name, args = found.get("name"), found.get("args")
        if letter in {"X", "B"}:
            return self._mend_timed(found, row, args if isinstance(args, dict) else None)
        if letter == "E":
            return End(_time(found, "ts", "end"), *row)
        label = args.get("name") if isinstance(args, dict) else None
        if letter == "M" and isinstance(name, str) and isinstance(label, str):
            return Metadata(name, *row, {"name": _printable(label)})
        return None

    def _mend_timed(
        self, found: dict[str, Any], row: tuple[int | str, int | str], args: dict[str, Any] | None
    ) -> Event:
        name, category = found.get("name"), found.get("cat")
        if not isinstance(name, str):
            raise _UnusableError("name missing or not a string")
        start = _time(found, "ts", "start")
        label = _printable(name), _printable(category) if isinstance(category, str) else ""
        kept = _numbers(args) if args is not None and self._typed else args
        about: dict[str, Any] = {
            "cat": label[1],
            "name": label[0],
            "pid": row[0],
            "tid": row[1],
            "ts": start,
            "args": kept,
        }
        if found["ph"] == "B":
            return Begin(**about)
        return PreciseComplete(dur=_time(found, "dur", "duration"), **about)


def _time(found: dict[str, Any], key: str, noun: str) -> Decimal:
    if not _is_number(value := found.get(key)):
        raise _UnusableError(f"{noun} missing or not a number")
    return Decimal(value)


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


def integer(value: object) -> int:
    """Read a number that a profiler writes as text; -1 for none."""
    return int(value) if isinstance(value, str | int) and str(value).isdecimal() else -1


def arguments(events: Sequence[Any]) -> list[Args]:
    """Decode the arguments of complete events, which few are asked for."""
    given = [e.args for e in events]
    try:
        found = _MANY_ARGS.decode(b"[" + b",".join([text or b"null" for text in given]) + b"]")
    except (TypeError, *_UNREADABLE):
        return [_arguments(one) for one in given]
    return [args or _NO_ARGS for args in found]


def _arguments(given: msgspec.Raw | Args | None) -> Args:
    if given is None or isinstance(given, Args):
        return given or _NO_ARGS
    try:
        return _ARGS.decode(given) or _NO_ARGS
    except _UNREADABLE:
        found = _lenient(bytes(given))
        return _numbers(found) if isinstance(found, dict) else _NO_ARGS


def _numbers(args: dict[str, Any]) -> Args:
    """Keep of the arguments those that are numbers, or lists of them, as they should be."""
    kept: dict[str, Any] = {}
    for field in msgspec.structs.fields(Args):
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
        self._open: dict[tuple[int | str, int | str], list[Begin[Any]]] = {}
        self.ends_alone = 0

    @property
    def begins_alone(self) -> int:
        """The number of begins that have no end so far."""
        return sum(map(len, self._open.values()))

    def add(self, event: Begin[Any] | End) -> PreciseComplete[Any] | None:
        """Take the next event of the file; return the event that it completes, if any."""
        thread = event.pid, event.tid
        if isinstance(event, Begin):
            self._open.setdefault(thread, []).append(event)
            return None
        if not self._open.get(thread):
            self.ends_alone += 1
            return None
        begin = self._open[thread].pop()
        return PreciseComplete(
            cat=begin.cat,
            name=begin.name,
            pid=begin.pid,
            tid=begin.tid,
            ts=begin.ts,
            dur=_difference(event.ts, begin.ts),
            args=begin.args,
        )


def _difference(end: Decimal, start: Decimal) -> Decimal:
    try:
        return end - start
    except ArithmeticError:  # exponents beyond all sense
        return Decimal("NaN")
