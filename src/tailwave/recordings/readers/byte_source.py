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
        foreign = [what for start, what in _FOREIGN if magic.startswith(start)]
        if path.suffix.lower() == ".ncu-rep":
            foreign.append("a report of ncu")
        if foreign:
            self.close()
            raise UnreadableInputError(f"{path} is {foreign[0]}: {TRACE_WANTED}.")
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
