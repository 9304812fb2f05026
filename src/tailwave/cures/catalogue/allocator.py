"""Let PyTorch take GPU memory in a way that does not stop the GPU.

What it does:
    PyTorch keeps the memory that it took, and when pieces of the right size run out it asks the
    driver for more, which waits for the GPU (cudaMalloc, cudaFree). expandable_segments:True lets
    a piece grow instead of being exchanged; the backend cudaMallocAsync takes memory in the order
    of the stream.

What it needs:
    A PyTorch program, started anew. What the user has set stays; a key that is set already is not
    overridden. expandable_segments does nothing with cudaMallocAsync.

How its mechanism is seen:
    PyTorch names its backend, and its settings in a memory snapshot.

How it is undone:
    A run without the variable.

Lines to keep it:
    export PYTORCH_ALLOC_CONF=expandable_segments:True
    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True    # before PyTorch 2.9
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tailwave.cures.catalogue.base import Change, Report, Seen, Setting, exports, one_of, read_back

NAME = "allocator"
LABEL = "PyTorch's allocator"
ANSWERS: tuple[str, ...] = ("remove-sync",)
EVIDENCE: tuple[str, ...] = ("cudaMalloc", "cudaFree", "cuMemMap", "cuMemUnmap")

_VARIABLE, _OLD_NAME = "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"
_EXPANDABLE, _ASYNC = "expandable_segments:True", "cudaMallocAsync"
_SETTINGS = {_EXPANDABLE: _EXPANDABLE, _ASYNC: f"backend:{_ASYNC}"}


def parameters(_: Setting) -> tuple[str, ...]:
    """Both, the milder first."""
    return (_EXPANDABLE, _ASYNC)


def change(parameter: str, setting: Setting) -> Change:
    """Add the setting to what the user has set, under both names."""
    one_of(NAME, parameter, tuple(_SETTINGS))
    value = ",".join(filter(None, (_own(setting.environment), _SETTINGS[parameter])))
    return Change(environment={_VARIABLE: value, _OLD_NAME: value})


def why_not(parameter: str, setting: Setting) -> str:
    """Not against what the user has set."""
    own = _own(setting.environment)
    if f"backend:{_ASYNC}" in own.replace(" ", ""):
        return f"The program already uses the backend {_ASYNC}, which has no segments to expand."
    key = _SETTINGS[parameter].partition(":")[0]
    if any(part.partition(":")[0].strip() == key for part in own.split(",")):
        return f"{key} is already set ({own}), and what the user has set stays."
    return ""


def seen(parameter: str, reports: Iterable[Report]) -> Seen:
    """Ask PyTorch for its backend or its setting."""
    if parameter == _ASYNC:
        return read_back("allocator", _ASYNC, f"backend:{_ASYNC}", reports)
    return read_back("expandable_segments", True, _EXPANDABLE, reports)  # noqa: FBT003 - a value


def lines(parameter: str) -> tuple[str, ...]:
    """The variable under the name of now, and under the one before PyTorch 2.9."""
    value = _SETTINGS[parameter]
    return exports({_VARIABLE: value, _OLD_NAME: value})


def _own(environment: Mapping[str, str]) -> str:
    """What the user has set; PyTorch looks for the old name where the new one is not set."""
    return environment.get(_VARIABLE, environment.get(_OLD_NAME, ""))
