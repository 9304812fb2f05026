"""Let PyTorch take GPU memory in a way that does not stop the GPU."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tailwave.cures.catalogue.base import (
    Cure,
    Mechanism,
    Report,
    Setting,
    Treatment,
    exports,
    one_of,
    read_back,
)

_VARIABLE, _OLD_NAME = "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"
_EXPANDABLE, _ASYNC = "expandable_segments:True", "cudaMallocAsync"
_SETTINGS = {_EXPANDABLE: _EXPANDABLE, _ASYNC: f"backend:{_ASYNC}"}


class AllocatorCure(Cure):
    """Works where PyTorch names its backend so, or has such segments in a memory snapshot."""

    name = "allocator"
    label = "PyTorch's allocator"
    does = (
        "PyTorch keeps the memory that it took, and when pieces of the right size run out it asks "
        "the driver for more, which waits for the GPU (cudaMalloc, cudaFree). "
        "expandable_segments:True lets a piece grow instead of being exchanged; the backend "
        "cudaMallocAsync takes memory in the order of the stream."
    )
    needs = (
        "A PyTorch program, started anew. What the user has set stays; a key that is set already "
        "is not overridden. expandable_segments does nothing with cudaMallocAsync."
    )
    answers = ("remove-sync",)
    evidence = ("cudaMalloc", "cudaFree", "cuMemMap", "cuMemUnmap")
    example = _EXPANDABLE

    def parameters(self, _: Setting, /) -> tuple[str, ...]:
        """Both, the milder first."""
        return (_EXPANDABLE, _ASYNC)

    def treatment(self, parameter: str, setting: Setting, /) -> Treatment:
        """Add the setting to what the user has set, under both names."""
        wanted = _SETTINGS[one_of(self.name, parameter, tuple(_SETTINGS))]
        value = ",".join(filter(None, (_own(setting.environment), wanted)))
        return Treatment(environment={_VARIABLE: value, _OLD_NAME: value})

    def why_not(self, parameter: str, setting: Setting, /) -> str:
        """Not against what the user has set."""
        own = _own(setting.environment)
        if f"backend:{_ASYNC}" in own.replace(" ", ""):
            return (
                f"The program already uses the backend {_ASYNC}, which has no segments to expand."
            )
        key = _SETTINGS[parameter].partition(":")[0]
        if any(part.partition(":")[0].strip() == key for part in own.split(",")):
            return f"{key} is already set ({own}), and what the user has set stays."
        return ""

    def mechanism(self, parameter: str, reports: Iterable[Report], /) -> Mechanism:
        """Ask PyTorch for its backend or its setting."""
        if parameter == _ASYNC:
            return read_back("allocator", _ASYNC, f"backend:{_ASYNC}", reports)
        return read_back("expandable_segments", True, _EXPANDABLE, reports)  # noqa: FBT003 - a value

    def lines(self, parameter: str, /) -> tuple[str, ...]:
        """The variable under the name of now, and under the one before PyTorch 2.9."""
        return exports(dict.fromkeys((_VARIABLE, _OLD_NAME), _SETTINGS[parameter]))


def _own(environment: Mapping[str, str]) -> str:
    """What the user has set; PyTorch looks for the old name where the new one is not set."""
    return environment.get(_VARIABLE, environment.get(_OLD_NAME, ""))
