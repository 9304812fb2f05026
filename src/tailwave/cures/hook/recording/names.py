"""Looks through raw records for what only this process can say: the names behind their pointers."""

from __future__ import annotations

import ctypes
import struct
from typing import Protocol

from tailwave.cures.hook.recording.cupti import DRIVER, KINDS, RUNTIME

# Where the pointers lie in a record of each kind: the same in all versions since 12.0.
_POINTERS = {KINDS["kernel"]: (104,), KINDS["marker"]: (40, 48)}
_CALLS = {KINDS["runtime"]: RUNTIME, KINDS["driver"]: DRIVER}
_WORD = struct.Struct("<I")
_POINTER = struct.Struct("<Q")


class Reader(Protocol):
    """What is needed of CUPTI."""

    def next_record(self, buffer: int, valid: int, record: int) -> int:
        """Return the address of the record behind this one (0 for the first), 0 for none."""

    def call_name(self, domain: int, number: int) -> str:
        """Return the name of a call."""


class Names:
    """The names found so far, by what stands for them in the records, and the records' sizes."""

    def __init__(self, reader: Reader) -> None:
        """Ask this for what the records do not hold."""
        self._reader = reader
        self.texts: dict[int, str] = {0: ""}  # by pointer
        self.calls: dict[tuple[int, int], str] = {}  # by domain and number
        self.sizes: dict[int, int] = {}  # of a record, by kind

    def look(self, address: int, records: memoryview) -> None:
        """Look through the records of one buffer, which lie at this address."""
        at, end = 0, len(records)
        while at < end:
            kind = _WORD.unpack_from(records, at)[0]
            if kind in _POINTERS:
                for offset in _POINTERS[kind]:
                    self._add_text(_POINTER.unpack_from(records, at + offset)[0])
            elif kind in _CALLS:
                self._add_call(_CALLS[kind], _WORD.unpack_from(records, at + 4)[0])
            at += self.sizes.get(kind) or self._measure(kind, address, end, at)

    def _add_text(self, pointer: int) -> None:
        if pointer not in self.texts:
            self.texts[pointer] = ctypes.string_at(pointer).decode(errors="replace")

    def _add_call(self, domain: int, number: int) -> None:
        if (domain, number) not in self.calls:
            self.calls[domain, number] = self._reader.call_name(domain, number)

    def _measure(self, kind: int, address: int, valid: int, at: int) -> int:
        """Return the size of a kind's records: each version of CUPTI has its own."""
        following = self._reader.next_record(address, valid, address + at) or address + valid
        self.sizes[kind] = max(following - address - at, 8)
        return self.sizes[kind]
