"""Compiles the kernels' sources for one architecture with NVRTC, when they are first used."""

from __future__ import annotations

from tailwave.errors import UnavailableError
from tailwave.gpu.devices.base import NotSupportedError
from tailwave.gpu.devices.cuda.foreign import CoreKernel, CoreObjectCode
from tailwave.gpu.devices.cuda.opening import Libraries
from tailwave.gpu.devices.cuda.refusals import guarded
from tailwave.gpu.kernels import FOLDER

_VARIED = "arguments"  # the one kernel that is compiled for a number of arguments
_MOST_ARGUMENTS = 64


class Compiler:
    """The kernels of one device."""

    def __init__(self, libraries: Libraries, architecture: str) -> None:
        """Take an architecture, such as ``sm_90``; nothing is compiled yet."""
        self._libraries = libraries
        self._architecture = architecture
        self._kernels: dict[str, CoreKernel] = {}

    def kernel(self, name: str) -> CoreKernel:
        """Return a kernel; raises NotSupportedError for one there is not, or not for this GPU."""
        if name not in self._kernels:
            code = compiled(self._libraries, name, self._architecture)
            self._kernels[name] = code.get_kernel(_family(name)[0])
        return self._kernels[name]


def compiled(libraries: Libraries, name: str, architecture: str) -> CoreObjectCode:
    """Compile a kernel; needs no GPU. Raises NotSupportedError, or UnavailableError without NVRTC.

    A name such as ``arguments_8`` is the kernel ``arguments`` with that many.
    """
    family, count = _family(name)
    path = FOLDER / f"{family}.cu"
    if not path.is_file() or name == _VARIED:
        raise NotSupportedError(f"There is no kernel {name!r}.")
    options = libraries.core.ProgramOptions(
        arch=architecture,
        std="c++17",
        include_path=str(FOLDER),
        define_macro=("PARAMETERS", _parameters(count)) if count else None,
    )
    return compiled_source(libraries, path.read_text("utf-8"), options)


def compiled_source(libraries: Libraries, source: str, options: object) -> CoreObjectCode:
    """Compile CUDA C++ with cuda-core's options; otherwise as `compiled`."""
    try:
        with guarded("compiling a kernel"):
            code: CoreObjectCode = libraries.core.Program(source, "c++", options).compile("cubin")
    except RuntimeError as error:  # its library is not there
        raise UnavailableError(
            f"NVRTC, the run-time compiler of CUDA, is missing ({error}): "
            "run `pip install 'tailwave[cuda]'`."
        ) from error
    return code


def _family(name: str) -> tuple[str, int]:
    """Split a name into the source's and the number of arguments (0 for any other kernel)."""
    family, _, count = name.rpartition("_")
    if family == _VARIED and count.isdecimal() and 1 <= int(count) <= _MOST_ARGUMENTS:
        return family, int(count)
    return name, 0


def _parameters(count: int) -> str:
    return ", ".join(f"unsigned long long p{index}" for index in range(count))
