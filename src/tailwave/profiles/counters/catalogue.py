"""The counters of a chip, listed by NVIDIA's own library without a GPU.

The package nvidia-cuda-cupti (of CUDA 12 or 13) brings libnvperf_host, which knows the counters of
each chip of its time. Only names are asked for.
"""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tailwave.errors import UnavailableError

_LIBRARY = "libnvperf_host.so"
# Where the packages of CUDA 12 and of CUDA 13 put it, below the namespace package "nvidia".
_FOLDERS = ("cuda_cupti/lib", "cu13/lib")
_KINDS = 3  # counters, ratios, throughputs
_WANTED = (
    "pip install nvidia-cuda-cupti-cu12 (or nvidia-cuda-cupti for CUDA 13) to have names checked "
    "offline."
)


class _Initialize(ctypes.Structure):
    _fields_ = (("size", ctypes.c_size_t), ("private", ctypes.c_void_p))


class _ChipNames(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("private", ctypes.c_void_p),
        ("names", ctypes.POINTER(ctypes.c_char_p)),
        ("count", ctypes.c_size_t),
    )


class _ScratchSize(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("private", ctypes.c_void_p),
        ("chip", ctypes.c_char_p),
        ("availability", ctypes.c_void_p),
        ("scratch_size", ctypes.c_size_t),
    )


class _Evaluator(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("private", ctypes.c_void_p),
        ("scratch", ctypes.c_void_p),
        ("scratch_size", ctypes.c_size_t),
        ("chip", ctypes.c_char_p),
        ("availability", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("data_size", ctypes.c_size_t),
        ("evaluator", ctypes.c_void_p),
    )


class _MetricNames(ctypes.Structure):
    # metricType is one byte, padded to the next pointer.
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("private", ctypes.c_void_p),
        ("evaluator", ctypes.c_void_p),
        ("kind", ctypes.c_uint8),
        ("text", ctypes.c_void_p),
        ("begins", ctypes.POINTER(ctypes.c_size_t)),
        ("count", ctypes.c_size_t),
    )


class _Destroy(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("private", ctypes.c_void_p),
        ("evaluator", ctypes.c_void_p),
    )


class Catalogue:
    """The chips that the installed library knows, and their counters."""

    def __init__(self, library: Path | None = None) -> None:
        """Load the library; UnavailableError where there is none, or it does not load."""
        path = library or find_library()
        if path is None:
            raise UnavailableError(f"no list of a chip's counters is installed: {_WANTED}")
        try:
            self._library: Any = ctypes.CDLL(str(path))
            self._call("NVPW_InitializeHost", _Initialize())
        except (OSError, AttributeError) as error:
            raise UnavailableError(f"{path} does not load ({error}): {_WANTED}") from error

    def chips(self) -> tuple[str, ...]:
        """Return the chips' names in lower case ("gh100"), as the library lists them."""
        answer = _ChipNames()
        self._call("NVPW_GetSupportedChipNames", answer)
        return tuple(answer.names[number].decode().lower() for number in range(answer.count))

    def names(self, chip: str) -> frozenset[str]:
        """Return a chip's counters without roll-ups; UnavailableError if it is not known."""
        if chip.lower() not in self.chips():
            raise UnavailableError(
                f"the installed {_LIBRARY} does not know a chip {chip!r}; it knows "
                f"{', '.join(self.chips())}."
            )
        code = chip.upper().encode()
        wanted = _ScratchSize(chip=code)
        self._call("NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize", wanted)
        scratch = ctypes.create_string_buffer(wanted.scratch_size)
        evaluator = _Evaluator(
            scratch=ctypes.addressof(scratch), scratch_size=wanted.scratch_size, chip=code
        )
        self._call("NVPW_CUDA_MetricsEvaluator_Initialize", evaluator)
        try:
            return frozenset(self._listed(evaluator.evaluator))
        finally:
            self._call("NVPW_MetricsEvaluator_Destroy", _Destroy(evaluator=evaluator.evaluator))

    def _listed(self, evaluator: int) -> Iterator[str]:
        for kind in range(_KINDS):
            answer = _MetricNames(evaluator=evaluator, kind=kind)
            self._call("NVPW_MetricsEvaluator_GetMetricNames", answer)
            for number in range(answer.count):
                yield ctypes.string_at(answer.text + answer.begins[number]).decode()

    def _call(self, function: str, parameters: ctypes.Structure) -> None:
        """Call a function of the library; UnavailableError with its status if it refuses."""
        parameters.size = ctypes.sizeof(parameters)
        status = getattr(self._library, function)(ctypes.byref(parameters))
        if status:
            raise UnavailableError(f"{function} of {_LIBRARY} failed with status {status}.")


def find_library() -> Path | None:
    """Return where the installed package has the library; None if it is not installed."""
    spec = importlib.util.find_spec("nvidia")
    places = spec.submodule_search_locations if spec else None
    found = (Path(place) / folder / _LIBRARY for place in places or () for folder in _FOLDERS)
    return next((path for path in found if path.is_file()), None)
