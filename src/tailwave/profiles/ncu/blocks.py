"""The outline of a ``.ncu-rep``: how many results it says it holds, and whether its end is there.

ncu-report reads a report that ends early up to the cut and says nothing. The file is a row of
blocks, each a length, a header (a protobuf message: 2 counts the results, 5 is the bytes of data
that follow) and that data. NVIDIA doesn't document this; it's what the shipped reports look like.
So where a file doesn't look like it, nothing is claimed.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

import msgspec

MAGIC = b"NVR\0"
_LENGTH = struct.Struct("<I")
_MOST_HEADER = 1 << 28  # bytes; a header holds names of metrics and lines of source
_RESULTS, _DATA = 2, 5
_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5  # the wire types of protobuf
_MOST_VARINT = 64  # bits


class Outline(msgspec.Struct, frozen=True):
    """``results`` up to the end, or the cut; ``whole`` bytes are in the whole blocks before it."""

    results: int
    whole: int
    cut: bool


def outline_of(path: Path) -> Outline | None:
    """Go through a report's blocks; None where they are not as they should, OSError as reading."""
    results = whole = 0
    with path.open("rb") as file:
        size = path.stat().st_size
        file.seek(len(MAGIC))
        try:
            _header(file)  # the version
            while file.tell() < size:
                header = _header(file)
                _pass_over(file, header.get(_DATA, 0), size)
                results += header.get(_RESULTS, 0)
                whole = file.tell()
        except EOFError:
            return Outline(results, whole, cut=True)
        except (ValueError, IndexError):
            return None
    return Outline(results, whole, cut=False)


def _header(file: BinaryIO) -> dict[int, int]:
    """Read a block's header: its fields that are numbers."""
    length = file.read(_LENGTH.size)
    if len(length) < _LENGTH.size:
        raise EOFError
    [count] = _LENGTH.unpack(length)
    if count > _MOST_HEADER:
        raise ValueError("a header longer than any")
    data = file.read(count)
    if len(data) < count:
        raise EOFError
    return _numbers(data)


def _pass_over(file: BinaryIO, count: int, size: int) -> None:
    if file.seek(count, 1) > size:
        raise EOFError


def _numbers(data: bytes) -> dict[int, int]:
    """Return a message's numbers by field, the last of each; IndexError where it ends early."""
    numbers: dict[int, int] = {}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        field, wire = key >> 3, key & 7
        if wire == _VARINT:
            numbers[field], at = _varint(data, at)
            continue
        if field in (_RESULTS, _DATA):
            raise ValueError("a count that is no number")
        count = {_EIGHT: 8, _FOUR: 4}.get(wire)
        if wire == _BYTES:
            count, at = _varint(data, at)
        if count is None:
            raise ValueError("no such wire type")
        if at + count > len(data):
            raise IndexError
        at += count
    return numbers


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
