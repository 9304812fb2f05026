"""A GPU is measured, and its figures are judged."""

from __future__ import annotations

from tailwave.gpu.devices import open_watch
from tailwave.gpu.devices.base import (
    ClockReason,
    DeniedError,
    Feature,
    GpuId,
    GpuProcess,
    GpuState,
    Launch,
    NotSupportedError,
    Watch,
)

__all__ = [
    "ClockReason",
    "DeniedError",
    "Feature",
    "GpuId",
    "GpuProcess",
    "GpuState",
    "Launch",
    "NotSupportedError",
    "Watch",
    "open_watch",
]
