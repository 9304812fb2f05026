"""The folder that a trial keeps its files in, removed when the trial ends, however it ends."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tailwave.errors import UnavailableError

_PREFIX = "tailwave-trial-"
_LOCK = "lock"


@contextmanager
def workspace() -> Iterator[Path]:
    """Give a folder under the system's temporary one; first remove those of trials that died.

    A living trial holds a lock in its folder, which the system takes back from a killed one.
    Raises UnavailableError where nothing can be written.
    """
    try:
        _remove_stale()
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UnavailableError(
            f"there is no folder for temporary files ({error.strerror}): name one that can be "
            "written to by TMPDIR."
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _remove_stale() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue  # another user's, or one that is being made right now
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue  # its trial lives
        else:
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)
