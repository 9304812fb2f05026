"""The causes: one file each, all of them in ``RULES``.

A rule looks at a Case and returns a Finding or None. To add one: a file with ``CODE``, ``find``
and a docstring under the four headings, a line here, a test file.
"""

from __future__ import annotations

from types import ModuleType

from tailwave.recordings.causes import (
    blocking_copy,
    host_contention,
    host_starved,
    host_sync,
    launch_bound,
    small_grid,
    stream_interference,
    wave_tail,
)

RULES: tuple[ModuleType, ...] = (
    launch_bound,
    host_sync,
    host_starved,
    host_contention,
    blocking_copy,
    stream_interference,
    wave_tail,
    small_grid,
)
