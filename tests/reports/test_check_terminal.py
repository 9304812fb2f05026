"""The terminal report of a check, word for word."""

from __future__ import annotations

from msgspec.structs import replace

from tailwave.model import Health
from tailwave.reports.check_terminal import render_check, render_figures
from tests.measured import SIMULATED
from tests.reports.checks import HEALTHY, LAUNCH, LOST, NARROW, NO_DEVICE, SIMULATION
from tests.reports.printed import printed

NARROW_REPORT = """\
This GPU does not quite schedule as any GPU should: copy WARNING, isolation
UNKNOWN, 1 link OK.

  device     NVIDIA H200, 132 SMs, driver 580.159
  reference  none
  run        2026-11-29 15:00 UTC, 38 s, 2 figures

link       health    figure                  what it means for your work
launch     OK        graph node 0.500 us     A chain of 1,000 small kernels
                     stream launch 3.50 us   costs 3.50 ms in a stream and 0.500
                                             ms as a graph.
copy       WARNING   to the GPU 26.8 GB/s    A GiB to the GPU takes 40 ms from
                                             pinned memory.
                                             WARNING: the link's width under
                                             load, of what both ends could do, 8
                                             lanes (healthy: at least 16 lanes).
isolation  UNKNOWN   not measured            This driver cannot split the SMs.

What could not be measured, and why
  unsupported  interference.partition, context.partition_create: This driver
               cannot split the SMs.

What the verdicts rest on
launch
  OK             0.143 x  a graph node against a launch in a full stream
                          (healthy: up to 1 x)
  OK            1 figure  within what the reference allows
copy
  WARNING        8 lanes  the link's width under load, of what both ends could
                          do (healthy: at least 16 lanes)
                          not compared: copies to the GPU, pinned. How fast this
                          host is against the reference's is not known.

Notes
  - Only what holds on any GPU was judged: there is no reference for NVIDIA
    H200.
"""

HEALTHY_BEGINNING = """\
This GPU schedules as an H200 should: 1 link OK.

  device     NVIDIA H200, 132 SMs, driver 580.159
  reference  NVIDIA H200, 5 runs, shipped with tailwave
  run        2026-11-29 15:00 UTC, 38 s, 1 figure
"""

SIMULATED_BEGINNING = """\
This simulated GPU schedules as any GPU should: 1 link OK.

  device     NVIDIA H200 (simulated), 132 SMs, no figure below comes from a real
             GPU
  reference  none
  run        2026-11-29 15:00 UTC, 38 s, 1 figure

link       health    figure (simulated)      what it means for your work
"""

FIGURES = """\

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


def test_the_whole_report() -> None:
    """The answer, the links, what could not be measured, what it rests on, notes."""
    assert printed(render_check, NARROW) == NARROW_REPORT


NARROW_PAGE = """
launch     OK
    graph node 0.500 us, stream launch 3.50 us
    A chain of 1,000 small kernels costs 3.50 ms
    in a stream and 0.500 ms as a graph.
copy       WARNING
    to the GPU 26.8 GB/s
    A GiB to the GPU takes 40 ms from pinned
    memory.
    WARNING: the link's width under load, of what
    both ends could do, 8 lanes (healthy: at least
    16 lanes).
"""


def test_a_narrow_page_has_no_table() -> None:
    """Where four columns have no room, the links stand below each other; nothing overflows."""
    report = printed(render_check, NARROW, columns=50)
    assert NARROW_PAGE in report
    assert max(len(line) for line in report.splitlines()) <= 50


def test_a_healthy_gpu() -> None:
    """With a reference the report begins with the model."""
    assert printed(render_check, HEALTHY).startswith(HEALTHY_BEGINNING)


def test_a_simulated_gpu_says_so_three_times() -> None:
    """The first line, the device and the table of figures each say that nothing was real."""
    assert printed(render_check, SIMULATION).startswith(SIMULATED_BEGINNING)


def test_what_is_slower_than_the_reference_is_listed() -> None:
    """A figure that is not as usual has its line, with what the reference allows."""
    slow = replace(LAUNCH.criteria[1], health=Health.WARNING, value=0.6)
    launch = replace(LAUNCH, health=Health.WARNING, criteria=(slow,))
    report = printed(render_check, replace(HEALTHY, verdicts=(launch,)))
    assert (
        "  WARNING       0.600 us  a node of a CUDA graph (the reference allows: up to\n"
        "                          0.520 us)\n"
    ) in report


def test_no_device() -> None:
    """Without a device there is the sentence and nothing else."""
    assert printed(render_check, NO_DEVICE) == "UNKNOWN: There is no CUDA driver here.\n"


def test_what_a_lost_gpu_had_given_is_shown() -> None:
    """The first line is the loss; what had been measured stands below."""
    report = printed(render_check, LOST)
    assert report.startswith("CRITICAL: this GPU was not checked to the end. The GPU stopped")
    assert "launch     OK        graph node 0.500 us" in report
    assert "  failed       copy: The GPU stopped answering.\n" in report


def test_every_figure() -> None:
    """In the order in which they were taken: interval, samples, outliers, clock, or why not."""
    assert printed(render_figures, NARROW) == FIGURES


def test_simulated_figures_are_headed_so() -> None:
    """The heading says when the figures are simulated."""
    simulated = replace(NARROW, device=SIMULATED)
    assert printed(render_figures, simulated).startswith("\nEvery figure (simulated)\n")
