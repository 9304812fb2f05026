"""The outline of a report: its results, and whether its end is there."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwave.profiles.ncu.blocks import MAGIC, Outline, outline_of


def varint(number: int) -> bytes:
    """Write a number as protobuf does."""
    more = b""
    while number >= 0x80:
        more += bytes([number & 0x7F | 0x80])
        number >>= 7
    return more + bytes([number])


def field(number: int, value: int | bytes) -> bytes:
    """Write a field as protobuf does."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def with_length(message: bytes) -> bytes:
    """Put a message's length before it."""
    return struct.pack("<I", len(message)) + message


def report(results: list[int]) -> bytes:
    """Write a report with blocks of so many results each."""
    data = MAGIC + with_length(field(1, 7))
    for count in results:
        payload = b"r" * (300 * count)
        header = field(1, 0) + field(2, count) + field(4, b"names") + field(5, len(payload))
        data += with_length(header + field(6, b"process")) + payload
    return data


def outline(folder: Path, data: bytes) -> Outline | None:
    """Save a report and take its outline."""
    path = folder / "some.ncu-rep"
    path.write_bytes(data)
    return outline_of(path)


def test_a_whole_report(tmp_path: Path) -> None:
    """The results of all blocks are counted."""
    data = report([0, 1, 2])
    assert outline(tmp_path, data) == Outline(3, len(data), cut=False)


def test_a_report_cut_anywhere(tmp_path: Path) -> None:
    """The results before the cut are counted; between two blocks no cut can be seen."""
    data = report([1, 1])
    ends = [len(report([])), len(report([1])), len(data)]
    for size in range(len(MAGIC), len(data)):
        assert outline(tmp_path, data[:size]) == Outline(
            results=sum(size >= end for end in ends[1:]),
            whole=max((end for end in ends[1:] if size >= end), default=0),
            cut=size not in ends,
        )


@pytest.mark.parametrize(
    "header",
    [
        b"\x2a\x01x",  # 5 is no number
        b"\x12\x01x\x28\x00",  # 2 is no number
        b"\x2f",  # no such wire type
        b"\x22\xff",  # ends early
        b"\x28" + b"\xff" * 12,  # a number without an end
    ],
)
def test_a_block_that_is_none_is_claimed_nothing_of(tmp_path: Path, header: bytes) -> None:
    """A report of another make is left to the library."""
    assert outline(tmp_path, report([1]) + with_length(header)) is None


def test_a_header_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    """It is no header."""
    assert outline(tmp_path, report([]) + b"\xff\xff\xff\xff") is None


def test_fields_of_fixed_size_are_passed_over(tmp_path: Path) -> None:
    """A later version may have any."""
    header = b"\x39" + bytes(8) + b"\x3d" + bytes(4) + field(2, 4)
    got = outline(tmp_path, report([]) + with_length(header))
    assert got is not None
    assert got.results == 4


@given(data=st.binary(max_size=60))
def test_any_bytes_have_an_outline(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """Nothing is raised, and no more is claimed whole than there is."""
    got = outline(tmp_path_factory.mktemp("r"), MAGIC + data)
    assert got is None or got.whole <= len(MAGIC + data)
