"""The simulated GPU: every probe runs on it, in virtual time, with no GPU.

It is a model with its parameters in ``NAME.toml``: what a figure of it says is what those
parameters lead to, and every figure is marked as simulated.
"""

from __future__ import annotations

from tailwave.gpu.devices.sim import chip
from tailwave.gpu.devices.sim.device import SimDevice


def open(name: str) -> SimDevice:  # noqa: A001  read as `sim.open`
    """Open a simulated GPU by its chip's name ("h200"); UnavailableError for an unknown one."""
    return SimDevice(chip.load(name))
