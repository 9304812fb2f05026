"""Kernels that only take up their place for a while: they show launches and the dispatcher."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tailwave.gpu.devices.sim.kernels.call import Call
from tailwave.gpu.devices.sim.work import Placement, Work


def empty(call: Call) -> Work:
    """Do nothing; how many arguments there are is the launch's matter."""
    return Work(call.everywhere(0.0))


def spin(call: Call) -> Work:
    """Wait for ``ns`` of global time, which is seen to have passed at the next tick."""
    return Work(call.everywhere(call.integer(1) + call.chip.clock.tick_ns / 2), _stamps(call))


def stamp(call: Call) -> Work:
    """Work for ``cycles``."""
    return Work(call.everywhere(call.chip.ns(call.integer(1))), _stamps(call))


def hog(call: Call) -> Work:
    """Keep every unit busy for ``cycles``."""
    return Work(call.everywhere(call.chip.ns(call.integer(1))), _smids(call))


def smids(call: Call) -> Work:
    """Say where each CTA ran."""
    return Work(call.everywhere(0.0), _smids(call))


def tick(call: Call) -> Work:
    """Note ``count`` successive values of the global timer."""
    count, step = call.integer(1), call.chip.clock.tick_ns

    def finish(placement: Placement) -> None:
        call.words(0)[:count] = call.ticks(placement.start[0] + step * np.arange(1, count + 1))

    return Work(call.everywhere(count * step), finish)


def _stamps(call: Call) -> Callable[[Placement], None]:
    """Write per CTA its SM, its start and end on the global timer, and the cycles between."""

    def finish(placement: Placement) -> None:
        out = call.words(0)[: 4 * len(placement.sm)].reshape(-1, 4)
        out[:, 0] = placement.sm
        out[:, 1] = call.ticks(placement.start)
        out[:, 2] = call.ticks(placement.end)
        out[:, 3] = call.cycles(placement.end - placement.start)

    return finish


def _smids(call: Call) -> Callable[[Placement], None]:
    def finish(placement: Placement) -> None:
        call.words(0)[: len(placement.sm)] = placement.sm

    return finish
