"""Every figure of a session, with what it rests on."""

from __future__ import annotations

import msgspec

from tailwave.reports.figure_list import render_figures
from tests.measured import SIMULATED
from tests.reports.checks import NARROW
from tests.reports.printed import printed

REPORT = """\

Every figure
  launch.graph_node
      0.500 us, 0.490 us to 0.510 us, 3 samples, 1 far out, at 1,980 MHz
  copy.link_width (most 16)
      8 lanes
  interference.partition
      unsupported: This driver cannot split the SMs.
  context.partition_create
      unsupported: This driver cannot split the SMs.
"""


def test_the_whole_list() -> None:
    """In the order in which they were taken: interval, samples, outliers, clock, or why not."""
    assert printed(render_figures, NARROW) == REPORT


def test_simulated_figures_are_headed_so() -> None:
    """The heading says when the figures are simulated."""
    simulated = msgspec.structs.replace(NARROW, device=SIMULATED)
    assert printed(render_figures, simulated).startswith("\nEvery figure (simulated)\n")
