"""How two checks differ."""

from __future__ import annotations

import msgspec

from tailwave.model.measurement import Measurement
from tailwave.model.printable import Printable
from tailwave.model.session import Session


class Difference(msgspec.Struct, frozen=True):
    """A headline figure of two sessions whose intervals do not meet.

    ``change`` is the second value over the first, less 1. ``worse`` is None for a figure of which
    neither more nor less is better. ``decides`` says what the figure decides for work on the GPU.
    """

    what: str
    before: Measurement
    after: Measurement
    change: float | None  # None when the first is 0
    worse: bool | None
    decides: str


class Comparison(Printable, frozen=True):
    """Two sessions, figure by figure: what differs (worst first), what agrees, what only one has.

    ``small`` differences are below what two checks of one GPU differ by; ``missing`` names the
    figures that only one of the sessions has, with the reason.
    """

    before: Session
    after: Session
    differences: tuple[Difference, ...]
    small: tuple[Difference, ...]
    alike: int
    missing: tuple[str, ...]
