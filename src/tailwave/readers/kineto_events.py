"""The events of a Kineto trace, typed, and how a block of them is decoded.

A block is decoded in one go. When that fails (a NaN, a string for a number, a key that should not
be null), its events are decoded one by one, and what remains unreadable is counted and left out.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, TypeAlias

import msgspec


class Args(msgspec.Struct, gc=False):
    """The arguments that are read of a complete event; absent ones are -1 or None."""

    correlation: int = -1
    stream: int = -1
    device: int = -1
    grid: list[int] | None = None
    block: list[int] | None = None
    registers: int = msgspec.field(default=-1, name="registers per thread")
    shared: int = msgspec.field(default=-1, name="shared memory")
    bytes: int = -1
    graph_node: int = msgspec.field(default=-1, name="graph node id")
    wait_on_stream: int = -1
    record_correlation: int = msgspec.field(default=-1, name="wait_on_cuda_event_record_corr_id")


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
    """The begin of an event whose end is an event of its own; profilers of GPUs write none."""


def _ignored(letter: str) -> type[msgspec.Struct]:
    """Make a type for events whose content is not read."""
    name = f"Ignored_{ord(letter)}"
    return msgspec.defstruct(name, [], tag_field="ph", tag=letter, gc=False)


_FLOWLESS = tuple(_ignored(letter) for letter in "sf")
_OTHERS = tuple(_ignored(letter) for letter in "iIECbnetPNODRcvVTpF()")
# A backslash of JSON with what it escapes, or one that escapes nothing.
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
Event: TypeAlias = msgspec.Struct
Split: TypeAlias = Callable[[bytes], Iterable[bytes]]
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class BlockDecoder:
    """Decodes blocks of events; ``left_out`` counts what could not be read, by reason."""

    def __init__(self, *, flows: bool, precise: bool = False) -> None:
        """Read flows only where they are needed: half of a trace's events are flows."""
        union: Any = PreciseComplete if precise else Complete
        arrows = (FlowBegin, FlowEnd) if flows else _FLOWLESS
        for kind in (Metadata, *arrows, Begin, *_OTHERS):
            union |= kind
        self._list = msgspec.json.Decoder(list[union])
        self._one = msgspec.json.Decoder(union)
        self._union = union
        self.left_out: Counter[str] = Counter()

    def decode(self, block: bytes, split: Split) -> list[Event]:
        """Decode a block of events separated by commas; ``split`` cuts a block that won't."""
        try:
            events: list[Event] = self._list.decode(b"[" + block + b"]")
        except _UNREADABLE:
            return [e for raw in split(block) if (e := self._decode_one(raw)) is not None]
        return events

    def _decode_one(self, raw: bytes) -> Event | None:
        try:
            event: Event = self._one.decode(raw)
        except _UNREADABLE:
            return self._mend(raw)
        return event

    def _mend(self, raw: bytes) -> Event | None:
        """Decode an event that is not quite JSON, or not quite of its type."""
        found = _lenient(raw)
        if found is None:
            self.left_out["not JSON"] += 1
            return None
        if not isinstance(found, dict):
            self.left_out["not an event"] += 1
            return None
        if found.get("ph") == "X":
            return self._mend_complete(found)
        if found.get("ph") == "M":
            return self._mend_metadata(found)
        return None

    def _mend_complete(self, found: dict[str, Any]) -> Event | None:
        name, args, category = found.get("name"), found.get("args"), found.get("cat")
        if not isinstance(name, str):
            self.left_out["name missing or not a string"] += 1
            return None
        for key, word in (("ts", "start"), ("dur", "duration")):
            if not _is_number(found.get(key)):
                self.left_out[f"{word} missing or not a number"] += 1
                return None
        mended = {
            "ph": "X",
            "name": _printable(name),
            "cat": _printable(category) if isinstance(category, str) else "",
            "pid": _identifier(found.get("pid")),
            "tid": _identifier(found.get("tid")),
            "ts": _number(found["ts"]),
            "dur": _number(found["dur"]),
            "args": _numbers(args) if isinstance(args, dict) else None,
        }
        event: Event = msgspec.convert(mended, self._union, strict=False)
        return event

    def _mend_metadata(self, found: dict[str, Any]) -> Event | None:
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
    try:
        return json.loads(text, strict=False)
    except RecursionError:
        return None
    except ValueError:
        text = _ESCAPE.sub(lambda match: match[0] if match[0] != "\\" else "\\\\", text)
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _printable(text: str) -> str:
    """Replace what has no place in a text, such as one half of a surrogate pair."""
    return text.encode(errors="replace").decode()


def _identifier(value: object) -> int | str:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return _printable(str(value))


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    try:
        return math.isfinite(float(value))
    except (ValueError, OverflowError):
        return False


def _number(value: float | str) -> float:
    return float(value) if isinstance(value, str) else value


def _numbers(args: dict[str, Any]) -> dict[str, Any]:
    """Keep of the arguments those that are numbers, or lists of them, as they should be."""
    kept: dict[str, Any] = {}
    for field in msgspec.structs.fields(Args):
        value = args.get(field.encode_name)
        if field.name in {"grid", "block"}:
            if isinstance(value, list) and all(map(_is_number, value)):
                kept[field.encode_name] = [int(_number(side)) for side in value]
        elif value is not None and _is_number(value):
            kept[field.encode_name] = int(_number(value))
    return kept
