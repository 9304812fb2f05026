"""The causes: one file each, all of them in ``RULES``.

To add one: a file that is a ``Rule``, a line here, a test file.
"""

from __future__ import annotations

from typing import Protocol

from tailwave.model import Finding
from tailwave.recordings.causes import (
    blocking_copy,
    graph_holes,
    host_contention,
    host_starved,
    host_sync,
    launch_bound,
    link_bound,
    looped_optimizer,
    page_migration,
    partial_warp,
    queued,
    slow_steps,
    small_grid,
    straggler,
    stream_interference,
    unfused,
    wave_tail,
)
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.timeline.case import Case


class Rule(Protocol):
    """Looks for one cause of lost time in a recording; a module with these names is one.

    Its docstring, under the four headings that ``tailwave explain`` prints, explains ``CODE``.
    """

    CODE: str

    def find(self, case: Case, forecast: Forecast) -> Finding | None:
        """Weigh the cause; None where there is none, or it is not worth a sentence."""


RULES: tuple[Rule, ...] = (
    launch_bound,
    host_sync,
    host_starved,
    host_contention,
    blocking_copy,
    link_bound,
    page_migration,
    looped_optimizer,
    stream_interference,
    wave_tail,
    small_grid,
    partial_warp,
    unfused,
    graph_holes,
    queued,
    slow_steps,
    straggler,
)
