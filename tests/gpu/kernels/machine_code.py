"""Reads the machine code of a kernel out of a cubin, with no disassembler.

Since compute capability 7.0 an instruction is 16 bytes, and its lowest nine bits say which it is.
The numbers below are those that ``nvdisasm`` names so, for every architecture from 7.5 to 12.0.
"""

from __future__ import annotations

import struct
from collections import Counter
from typing import Final

NAMES: Final = {
    0x005: "CS2R",
    0x023: "FFMA",
    0x11D: "BAR",
    0x14D: "EXIT",
    0x15D: "NANOSLEEP",
    0x181: "LDG",
    0x183: "LDL",
    0x184: "LDS",
    0x186: "STG",
    0x187: "STL",
    0x188: "STS",
    0x18E: "RED",
    0x192: "MEMBAR",
    0x1A9: "ATOMG",
}
_INSTRUCTION_BYTES: Final = 16
_SECTION_TABLE, _SECTION_COUNTS = 0x28, 0x3A  # offsets in the header of a 64-bit ELF file
_SECTION: Final = "<IIQQQQIIQQ"


def instructions(cubin: bytes, kernel: str) -> list[str]:
    """Return a kernel's instructions by name, in order; "" for those that have none here."""
    code = _section(cubin, f".text.{kernel}")
    firsts = (
        struct.unpack_from("<H", code, at)[0] for at in range(0, len(code), _INSTRUCTION_BYTES)
    )
    return [NAMES.get(first & 0x1FF, "") for first in firsts]


def counted(cubin: bytes, kernel: str) -> Counter[str]:
    """Count a kernel's instructions by name."""
    return Counter(instructions(cubin, kernel))


def _section(elf: bytes, wanted: str) -> bytes:
    """Return a section of an ELF file by its name."""
    (table,) = struct.unpack_from("<Q", elf, _SECTION_TABLE)
    size, count, names_at = struct.unpack_from("<HHH", elf, _SECTION_COUNTS)
    sections = [struct.unpack_from(_SECTION, elf, table + index * size) for index in range(count)]
    names = sections[names_at][4]
    for name, _, _, _, offset, length, *_ in sections:
        start = names + name
        if elf[start : elf.index(b"\0", start)].decode() == wanted:
            return elf[offset : offset + length]
    raise LookupError(wanted)
