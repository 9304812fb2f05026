"""Files that users name: what they are, and the system's refusals in words."""

from __future__ import annotations

import stat
from pathlib import Path

from tailwave.errors import UnreadableInputError


def is_folder(path: Path) -> bool:
    """Tell a folder from a file; raises UnreadableInputError for anything else."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        raise UnreadableInputError(f"there is no file {path}: check the path.") from error
    except OSError as error:
        raise refused(path, error) from error
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise UnreadableInputError(f"{path} is not a file: save the recording as one.")
    return stat.S_ISDIR(mode)


def refused(path: Path, error: OSError) -> UnreadableInputError:
    """Word the system's refusal to read a file or folder."""
    return UnreadableInputError(
        f"cannot read {path} ({error.strerror}): make it readable, or give a copy that is."
    )
