"""The names behind the pointers of raw records."""

from __future__ import annotations

import ctypes
import struct

from tailwave.cures.hook.recording.names import Names

SIZES = {10: 216, 4: 40, 12: 56, 38: 48}


class Source:
    """Knows the records' sizes, as CUPTI does, and counts how often it is asked."""

    def __init__(self, memory: ctypes.Array[ctypes.c_char]) -> None:
        """Hold the records."""
        self.memory, self.asked = memory, 0

    def next_record(self, buffer: int, valid: int, record: int) -> int:
        """Return the address of the next record."""
        self.asked += 1
        at = record - buffer
        following = at + SIZES[struct.unpack_from("<I", self.memory, at)[0]]
        return buffer + following if following < valid else 0

    def call_name(self, domain: int, number: int) -> str:
        """Name a call by its numbers."""
        return f"call {domain}.{number}"


def kernel(name: int) -> bytes:
    """Return a kernel's record."""
    return struct.pack("<I", 10).ljust(104, b"\0") + struct.pack("<Q", name).ljust(112, b"\0")


def test_names_are_found_and_each_kind_is_measured_once() -> None:
    """Of three kernels and two calls, two texts, a call and two sizes are new."""
    texts = [ctypes.create_string_buffer(text) for text in (b"first", b"second\xff")]
    one, two = (ctypes.addressof(text) for text in texts)
    call = struct.pack("<II", 4, 7).ljust(40, b"\0")
    raw = kernel(one) + call + kernel(two) + kernel(one) + call
    memory = ctypes.create_string_buffer(raw, len(raw))
    source = Source(memory)
    names = Names(source)
    names.look(ctypes.addressof(memory), memoryview(raw))
    assert names.texts == {0: "", one: "first", two: "second\ufffd"}
    assert names.calls == {(1, 7): "call 1.7"}
    assert names.sizes == {10: 216, 4: 40}
    assert source.asked == 2


def test_the_last_record_reaches_to_the_end() -> None:
    """CUPTI knows no record behind it."""
    raw = struct.pack("<I", 38).ljust(48, b"\0")
    memory = ctypes.create_string_buffer(raw, len(raw))
    names = Names(Source(memory))
    names.look(ctypes.addressof(memory), memoryview(raw))
    assert names.sizes == {38: 48}


def test_a_ranges_domain_is_named_too() -> None:
    """A marker has two pointers: its name, and its domain."""
    texts = [ctypes.create_string_buffer(text) for text in (b"allreduce", b"NCCL")]
    pointers = [ctypes.addressof(text) for text in texts]
    raw = struct.pack("<I", 12).ljust(40, b"\0") + struct.pack("<QQ", *pointers)
    memory = ctypes.create_string_buffer(raw, len(raw))
    names = Names(Source(memory))
    names.look(ctypes.addressof(memory), memoryview(raw))
    assert [names.texts[pointer] for pointer in pointers] == ["allreduce", "NCCL"]
