"""Takes CUPTI's full buffers to a file: the callbacks only hand them out and take them back."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import NamedTuple

# Big enough that a callback, which needs the interpreter, is rare: some tens of thousands of
# records. Small enough that a process with many threads, each with a buffer, stays small.
BUFFER_BYTES = 4 << 20
_KEPT = 8  # empty buffers kept for the next request


class Buffer:
    """Memory that CUPTI writes records into; no page of it is there before it is written."""

    def __init__(self) -> None:
        """Take the memory from the system; raises OSError where there is none left."""
        self._memory = mmap.mmap(-1, BUFFER_BYTES)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))

    def records(self, valid: int) -> memoryview:
        """Return the bytes that hold records."""
        return memoryview(self._memory)[:valid]


class Block(NamedTuple):
    """A buffer that came back, and how many bytes of it hold records."""

    buffer: Buffer
    valid: int


class Spool:
    """Hands out buffers, and writes those that come back to a file, in a thread of its own.

    ``look`` is called with each block before it is written, in that thread; the file is made when
    there is something to write, so a process that uses no GPU leaves none.
    """

    def __init__(self, path: Path, look: Callable[[Block], None]) -> None:
        """Write to this path."""
        self.path = path
        self.failure = ""
        self.written: list[int] = []  # bytes of each block in the file
        self._look = look
        self._free: deque[Buffer] = deque()
        self._out: dict[int, Buffer] = {}
        self._full: SimpleQueue[Block | Lock] = SimpleQueue()
        self._file = -1
        self._thread: Thread | None = None

    def give(self) -> tuple[int, int]:
        """Return the address and size of an empty buffer."""
        try:
            buffer = self._free.pop()
        except IndexError:
            buffer = Buffer()
        self._out[buffer.address] = buffer
        return buffer.address, BUFFER_BYTES

    def take(self, address: int, valid: int) -> None:
        """Take a buffer back; its records are written soon."""
        buffer = self._out.pop(address, None)
        if buffer is not None:
            self._full.put(Block(buffer, valid))

    def start(self) -> None:
        """Begin to write."""
        self._thread = Thread(target=self._run, name="tailwave-record", daemon=True)
        self._thread.start()

    def drain(self, seconds: float) -> None:
        """Wait until all that was taken is written, at most this long."""
        written = Lock()
        written.acquire()
        self._full.put(written)
        if self._thread is not None and self._thread.is_alive():
            written.acquire(timeout=seconds)

    def read_again(self) -> Iterator[tuple[int, Buffer, int]]:
        """Read the file's blocks: the number of each, a buffer with its records, their bytes."""
        buffer, at = Buffer(), 0
        for number, valid in enumerate(self.written):
            os.preadv(self._file, [buffer.records(valid)], at)
            yield number, buffer, valid
            at += valid

    def _run(self) -> None:
        while True:
            got = self._full.get()
            if isinstance(got, Block):
                self._write(got)
            else:
                got.release()

    def _write(self, block: Block) -> None:
        if block.valid and not self.failure:
            try:
                self._look(block)
                self._append(block.buffer.records(block.valid))
                self.written.append(block.valid)
            except OSError as error:
                self.failure = f"{error.strerror or error}"
        if len(self._free) < _KEPT:
            self._free.append(block.buffer)

    def _append(self, records: memoryview) -> None:
        if self._file < 0:
            flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
            self._file = os.open(self.path, flags, 0o600)
        while records:
            records = records[os.write(self._file, records) :]
