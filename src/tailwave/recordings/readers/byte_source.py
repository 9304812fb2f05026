"""A file as a source of bytes: plain or gzip-compressed, whatever its name says."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

from tailwave.errors import UnreadableInputError
from tailwave.files import refused

ENDS_EARLY = "ends early"
DAMAGED = "is damaged"
TRACE_WANTED = "give a trace that torch.profiler exported (export_chrome_trace)"
_GZIP_MAGIC = b"\x1f\x8b"
# What other tools' files begin with, and what they are.
_FOREIGN = (
    (b"==PROF==", "output of ncu"),
    (b'"ID","Process ID"', "a CSV page of ncu"),
    (b"NVR\x00", "a report of ncu"),
    (b"PK\x03\x04", "a ZIP archive (unpack it first)"),
    (b"\xff\xfe", "UTF-16 text (save it as UTF-8)"),
)
_FOREIGN_SUFFIXES = {
    ".ncu-rep": "a report of ncu",
}
_LONGEST_MAGIC = 32


class ByteSource:
    """A plain or gzip-compressed file, read on; knows how far it is on disk.

    ``fault`` says what is wrong with compressed data, if anything: it ends early, or is damaged.
    """

    def __init__(self, path: Path) -> None:
        """Open the file; raises UnreadableInputError when that is refused, or it is no trace."""
        self.path = path
        self.fault = ""
        try:
            self._raw = path.open("rb")
            magic = self._raw.read(_LONGEST_MAGIC)
            self._raw.seek(0)
            self.size = path.stat().st_size
        except OSError as error:
            raise refused(path, error) from error
        if what := _foreign(path, magic):
            self.close()
            raise UnreadableInputError(f"{path} is {what}: {TRACE_WANTED}.")
        self._file: io.BufferedReader | gzip.GzipFile = self._raw
        if magic.startswith(_GZIP_MAGIC):
            self._file = gzip.GzipFile(fileobj=self._raw)

    @property
    def position(self) -> int:
        """Bytes of the file on disk that have been read."""
        return self._raw.tell()

    def read(self, size: int) -> bytes:
        """Return ``size`` bytes, or all that the file still gives."""
        pieces: list[bytes] = []
        try:
            while size > 0 and (piece := self._file.read1(size)):
                pieces.append(piece)
                size -= len(piece)
        except EOFError:
            self.fault = ENDS_EARLY
        except (zlib.error, gzip.BadGzipFile):
            self.fault = DAMAGED
        except OSError as error:
            raise refused(self.path, error) from error
        return b"".join(pieces)

    def close(self) -> None:
        """Close the file."""
        self._raw.close()


def _foreign(path: Path, magic: bytes) -> str:
    """Say what another tool's file is; nothing for what may be a trace."""
    by_content = (what for foreign, what in _FOREIGN if magic.startswith(foreign))
    return next(by_content, _FOREIGN_SUFFIXES.get(path.suffix.lower(), ""))
