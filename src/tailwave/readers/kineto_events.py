"""The events of a Kineto trace, typed, and how a block of them is decoded.

A block is decoded in one go. When that fails (a NaN, a string for a number, a key that should not
be null), its events are decoded one by one, and what remains unreadable is counted and left out.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, TypeAlias

import msgspec


class Args(msgspec.Struct, gc=False, rename=None):
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


class Metadata(msgspec.Struct, gc=False, tag_field="ph", tag="M"):
    """The name of a process or thread."""

    name: str = ""
    pid: int | str = -1
    tid: int | str = -1
    args: dict[str, Any] | None = None


class Flow(msgspec.Struct, gc=False, tag_field="ph", tag="s"):
    """The begin of an arrow from a host call to GPU work."""

    id: int | str = -1
    cat: str = ""
    pid: int | str = -1
    tid: int | str = -1
    ts: float = math.nan


class FlowEnd(msgspec.Struct, gc=False, tag_field="ph", tag="f"):
    """The end of an arrow."""

    id: int | str = -1
    cat: str = ""
    pid: int | str = -1
    tid: int | str = -1
    ts: float = math.nan


def _ignored(letter: str) -> type[msgspec.Struct]:
    """Make a type for events whose content is not read."""
    name = f"Ignored_{ord(letter)}"
    return msgspec.defstruct(name, [], tag_field="ph", tag=letter, gc=False)


_FLOWLESS = tuple(_ignored(letter) for letter in "sf")
_OTHERS = tuple(_ignored(letter) for letter in "iIBECbnetPNODRcvVTpF()")
Event: TypeAlias = msgspec.Struct
Fail: TypeAlias = Callable[[str], None]


class PreciseComplete(msgspec.Struct, gc=False, tag_field="ph", tag="X"):
    """As Complete, with times that keep all their decimals."""

    name: str
    ts: Decimal
    cat: str = ""
    pid: int | str = -1
    tid: int | str = -1
    dur: Decimal = Decimal("NaN")
    args: Args | None = None


class BlockDecoder:
    """Decodes blocks of events; ``left_out`` counts what could not be read, by reason."""

    def __init__(self, *, flows: bool, precise: bool = False) -> None:
        """Read flows only where they are needed: half of a trace's events are flows."""
        complete = PreciseComplete if precise else Complete
        arrows = (Flow, FlowEnd) if flows else _FLOWLESS
        union: Any = complete
        for kind in (Metadata, *arrows, *_OTHERS):
            union |= kind
        self._list = msgspec.json.Decoder(list[union])
        self._one = msgspec.json.Decoder(union)
        self._union = union
        self.left_out: Counter[str] = Counter()

    def decode(self, block: bytes, split: Callable[[bytes], Iterable[bytes]]) -> list[Event]:
        """Decode a block of events separated by commas; ``split`` cuts a block that won't."""
        try:
            events: list[Event] = self._list.decode(b"[" + block + b"]")
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return [e for raw in split(block) if (e := self._decode_one(raw)) is not None]
        return events

    def _decode_one(self, raw: bytes) -> Event | None:
        try:
            event: Event = self._one.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return self._mend(raw)
        return event

    def _mend(self, raw: bytes) -> Event | None:
        """Decode an event that is not quite JSON, or not quite of its type."""
        try:
            # Unlike msgspec, the standard library takes NaN and control characters.
            found = json.loads(raw.decode(errors="replace"), strict=False)
        except (ValueError, RecursionError):
            self.left_out["not JSON"] += 1
            return None
        if not isinstance(found, dict):
            self.left_out["not an event"] += 1
            return None
        if found.get("ph") not in {"X", "M"}:
            return None
        return self._convert(found)

    def _convert(self, found: dict[str, Any]) -> Event | None:
        args = found.get("args")
        found["args"] = _numbers(args) if isinstance(args, dict) else None
        found["cat"] = str(found.get("cat") or "")
        for key in ("pid", "tid"):
            if not isinstance(found.get(key), int | str):
                found[key] = str(found.get(key))
        if not isinstance(found.get("name"), str):
            self.left_out["name missing or not a string"] += 1
            return None
        if found["ph"] == "M":
            found["args"] = args if isinstance(args, dict) else None
        else:
            for key, word in (("ts", "start"), ("dur", "duration")):
                if not _is_number(found.get(key)):
                    self.left_out[f"{word} missing or not a number"] += 1
                    return None
        try:
            event: Event = msgspec.convert(found, self._union, strict=False)
        except msgspec.ValidationError:
            self.left_out["fields of the wrong type"] += 1
            return None
        return event


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    try:
        return math.isfinite(float(value))
    except (ValueError, OverflowError):
        return False


def _numbers(args: dict[str, Any]) -> dict[str, Any]:
    """Keep of the arguments those that are numbers, or lists of them, as they should be."""
    kept: dict[str, Any] = {}
    for field in msgspec.structs.fields(Args):
        value = args.get(field.encode_name)
        if isinstance(value, list):
            if all(_is_number(v) for v in value) and field.name in {"grid", "block"}:
                kept[field.encode_name] = [int(float(v)) for v in value]
        elif _is_number(value) and field.name not in {"grid", "block"}:
            kept[field.encode_name] = int(float(value))  # type: ignore[arg-type]
    return kept
