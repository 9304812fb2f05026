"""The buffers on their way to the file."""

from __future__ import annotations

import ctypes
from pathlib import Path

from tailwave.cures.hook.recording.spool import BUFFER_BYTES, Block, Spool


def filled(spool: Spool, records: bytes) -> None:
    """Take a buffer, fill it, give it back."""
    address, size = spool.give()
    assert size == BUFFER_BYTES
    ctypes.memmove(address, records, len(records))
    spool.take(address, len(records))


def test_what_comes_back_is_written_in_order(tmp_path: Path) -> None:
    """Each block is looked at before; one without records leaves nothing."""
    looked: list[bytes] = []
    spool = Spool(
        tmp_path / "r", lambda block: looked.append(bytes(block.buffer.records(block.valid)))
    )
    spool.start()
    for records in (b"first", b"", b"second"):
        filled(spool, records)
    spool.drain(10)
    assert (tmp_path / "r").read_bytes() == b"firstsecond"
    assert spool.written == [5, 6]
    assert looked == [b"first", b"second"]
    again = [bytes(buffer.records(valid)) for _, buffer, valid in spool.read_again()]
    assert again == [b"first", b"second"]


def test_buffers_are_used_again_and_few_are_kept(tmp_path: Path) -> None:
    """A burst of threads, each with a buffer, does not hold its memory for ever."""
    spool = Spool(tmp_path / "r", lambda _: None)
    spool.start()
    taken = [spool.give()[0] for _ in range(12)]
    for address in taken:
        spool.take(address, 0)
    spool.drain(10)
    assert len(spool._free) == 8  # noqa: SLF001 - the memory that is held
    assert spool.give()[0] in taken


def test_a_buffer_of_another_is_passed_over(tmp_path: Path) -> None:
    """CUPTI gives back what it was given, and nothing at times."""
    spool = Spool(tmp_path / "r", lambda _: None)
    spool.take(0, 100)
    spool.start()
    spool.drain(10)
    assert not (tmp_path / "r").exists()


def test_a_full_disk_is_told_and_the_program_runs_on(tmp_path: Path) -> None:
    """Blocks after the first refusal are dropped; none of it raises."""
    seen: list[Block] = []
    spool = Spool(tmp_path / "no" / "r", seen.append)
    spool.start()
    filled(spool, b"first")
    filled(spool, b"second")
    spool.drain(10)
    assert spool.failure == "No such file or directory"
    assert spool.written == []
    assert len(seen) == 1
