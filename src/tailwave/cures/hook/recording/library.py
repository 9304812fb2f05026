"""Finds CUPTI: the library that the program's own packages bring, else the toolkit's."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Iterator
from pathlib import Path

_OLDEST = 12  # of the toolkits whose records are known
# Below an entry of the import path, newest first: the wheels that PyTorch, JAX and CuPy depend on.
_IN_WHEELS = ("nvidia/cu13/lib", "nvidia/cuda_cupti/lib")
_IN_TOOLKITS = ("extras/CUPTI/lib64", "lib64", "targets/x86_64-linux/lib")
_TOOLKITS = Path("/usr/local")
_NAME = re.compile(r"libcupti\.so\.(\d+)$")


def find() -> Path:
    """Return the library to load; raises OSError, with what to install, where there is none.

    Two of them in one process would not see the same work, so the one that the program would load
    comes first: that of the import path, for the newest toolkit that the driver takes.
    """
    newest = _newest_toolkit()
    for path in _candidates():
        number = _NAME.search(path.name)
        if number is not None and _OLDEST <= int(number[1]) <= newest:
            return path
    raise OSError("there is no CUPTI here: pip install 'tailwave[record]' beside the program")


def _candidates() -> Iterator[Path]:
    folders = [Path(entry) / below for below in _IN_WHEELS for entry in sys.path if entry]
    toolkits = sorted(_TOOLKITS.glob("cuda*"), key=_version, reverse=True)
    folders += [toolkit / below for toolkit in toolkits for below in _IN_TOOLKITS]
    for folder in folders:
        yield from sorted(folder.glob("libcupti.so.*"))


def _version(toolkit: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", toolkit.name))


def _newest_toolkit() -> int:
    """Return the newest major version of CUDA that the driver takes; raises OSError without one."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise OSError("there is no NVIDIA driver here (libcuda.so.1)") from error
    version = ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    return version.value // 1000
