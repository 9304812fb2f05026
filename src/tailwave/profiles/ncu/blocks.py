"""The outline of a ``.ncu-rep``: how many results it says it holds, and whether its end is there.

ncu-report reads a report that ends early up to the cut and says nothing. The file is a row of
blocks, each a length, a header (a protobuf message: 2 counts the results, 5 is the bytes of data
that follow, 6 is the process) and that data. NVIDIA doesn't document this; it's what the shipped
reports look like. So where a file doesn't look like it, nothing is claimed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MAGIC = b"NVR\0"
_LENGTH = struct.Struct("<I")
_MOST_HEADER = 1 << 28  # bytes; a header holds names of metrics and lines of source
_RESULTS, _DATA, _PROCESS = 2, 5, 6
_PROCESS_ID, _PROCESS_NAME = 1, 3
_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5  # the wire types of protobuf
_MOST_VARINT = 64  # bits

Value = int | bytes


@dataclass
class Outline:
    """``results`` up to the end, or the cut; ``sound`` where the file looks as it should.

    ``whole`` is how many bytes the whole blocks before a cut have.
    """

    results: int = 0
    whole: int = 0
    cut: bool = False
    sound: bool = True
    processes: frozenset[tuple[int, str]] = frozenset()  # whose results they are


def outline_of(path: Path) -> Outline:
    """Go through a report's blocks; OSError as reading raises it."""
    outline = Outline()
    with path.open("rb") as file:
        size = path.stat().st_size
        try:
            for header in _headers(file, size):
                _add(outline, header)
                outline.whole = file.tell()
        except EOFError:
            outline.cut = True
        except (ValueError, IndexError):
            outline.sound = False
    return outline


def _headers(file: BinaryIO, size: int) -> Iterator[dict[int, Value]]:
    file.seek(len(MAGIC))
    _message(file, size)  # the version
    while file.tell() < size:
        header = _message(file, size)
        data = header.get(_DATA, 0)
        if not isinstance(data, int):
            raise ValueError("a size that is no number")  # noqa: TRY004 - the file is wrong, not a type
        if file.seek(data, 1) > size:
            raise EOFError
        yield header


def _message(file: BinaryIO, size: int) -> dict[int, Value]:
    length = file.read(_LENGTH.size)
    if len(length) < _LENGTH.size:
        raise EOFError
    [count] = _LENGTH.unpack(length)
    if count > _MOST_HEADER:
        raise ValueError("a header longer than any")
    if file.tell() + count > size:
        raise EOFError
    return _fields(file.read(count))


def _add(outline: Outline, header: dict[int, Value]) -> None:
    results, process = header.get(_RESULTS, 0), header.get(_PROCESS)
    if not isinstance(results, int):
        raise ValueError("a count that is no number")  # noqa: TRY004 - the file is wrong, not a type
    outline.results += results
    if results and isinstance(process, bytes):
        told = _fields(process)
        number, name = told.get(_PROCESS_ID), told.get(_PROCESS_NAME, b"")
        if isinstance(number, int) and isinstance(name, bytes):
            outline.processes |= {(number, name.decode(errors="replace"))}


def _fields(data: bytes) -> dict[int, Value]:
    """Return a message's fields by number, the last of each; IndexError where it ends early."""
    fields: dict[int, Value] = {}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        wire = key & 7
        if wire == _VARINT:
            fields[key >> 3], at = _varint(data, at)
            continue
        count = {_EIGHT: 8, _FOUR: 4}.get(wire)
        if wire == _BYTES:
            count, at = _varint(data, at)
        if count is None:
            raise ValueError("no such wire type")
        if at + count > len(data):
            raise IndexError
        fields[key >> 3] = data[at : at + count]
        at += count
    return fields


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < _MOST_VARINT:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:  # noqa: PLR2004 - the high bit says that more follows
            return value, at
    raise ValueError("a number without an end")
