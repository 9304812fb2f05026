"""Comparisons in words and in JSON."""

from __future__ import annotations

import msgspec

from tailwave.gpu.compare import compare
from tailwave.model import Comparison, Status
from tailwave.reports import to_json
from tailwave.reports.compare_terminal import render_comparison
from tests.documents import checked
from tests.measured import SIMULATED, figure, session, without
from tests.reports.printed import printed

BEFORE = session(
    figure("launch.sync", 8.0, "us", spread=0.02),
    figure("l2.bandwidth", 9600.0, "GB/s", mib=12),
    figure("topology.gpcs", 8.0, "GPCs"),
    figure("copy.small", 6.0, "us"),
    figure("issue.barrier", 77.0, "clk", warps=32),
    figure("launch.graph_node", 0.5, "us"),
    figure("copy.h2d_pinned", 55.0, "GB/s"),
)
AFTER = session(
    figure("launch.sync", 17.0, "us", spread=0.02),
    figure("l2.bandwidth", 7200.0, "GB/s", mib=12),
    figure("topology.gpcs", 7.0, "GPCs"),
    figure("copy.small", 4.5, "us"),
    figure("issue.barrier", 78.0, "clk", warps=32),
    figure("launch.graph_node", 0.5, "us"),
    without("copy.h2d_pinned", Status.FAILED, "The copy went wrong."),
    started="2026-11-30T15:00:00+00:00",
)

REPORT = """\
Of 6 figures the second session has 2 worse, 1 better, 1 different. The worst: a
launch and waiting for it, 2.1 times as much.

  first   NVIDIA H200, driver 580.159, 2026-11-29 15:00 UTC
  second  NVIDIA H200, driver 580.159, 2026-11-30 15:00 UTC

 1. WORSE    a launch and waiting for it: 2.1 times as much
    8 us (7.84 us to 8.16 us) -> 17 us (16.7 us to 17.3 us)
    It decides what a step costs whose result the host reads, such as a token
    that is sampled.

 2. WORSE    the bandwidth of L2 (mib 12): 25% less
    9,600 GB/s -> 7,200 GB/s
    It decides how fast kernels run whose data fit L2.

 3. DIFFERS  the number of GPCs: 12% less
    8 GPCs -> 7 GPCs
    It decides how large a cluster of CTAs can be, and which SMs share ports to
    L2.

 4. BETTER   a copy of a few bytes: 25% less
    6 us -> 4.50 us
    It decides what reading one number back costs, such as a loss or a token.

Less than two checks of one GPU differ by: a barrier (warps 32).

What only one of them has
  - copies to the GPU, pinned: only in the first. The copy went wrong.
"""


def test_the_whole_report() -> None:
    """The worst first, with its figures and what it decides."""
    assert printed(render_comparison, compare(BEFORE, AFTER)) == REPORT


def test_a_narrow_page_is_kept_to() -> None:
    """No line is longer than the page is wide."""
    report = printed(render_comparison, compare(BEFORE, AFTER), columns=50)
    assert max(len(line) for line in report.splitlines()) <= 50


def test_no_difference() -> None:
    """Two alike sessions are said to be so."""
    report = printed(render_comparison, compare(BEFORE, BEFORE))
    assert report.startswith("No difference that counts: 7 figures compared.\n")


def test_nothing_in_common() -> None:
    """Sessions without a common figure cannot be compared, and that is said."""
    report = printed(render_comparison, compare(BEFORE, session(device=None)))
    assert report.startswith("The two sessions have no headline figure in common.\n")
    assert "  second  no device, 2026-11-29 15:00 UTC\n" in report


def test_a_simulated_session_says_so() -> None:
    """Which of the two is simulated is in its line."""
    simulated = msgspec.structs.replace(BEFORE, device=SIMULATED)
    report = printed(render_comparison, compare(BEFORE, simulated))
    assert "  second  NVIDIA H200 (simulated), 2026-11-29 15:00 UTC\n" in report


def as_json(comparison: Comparison) -> dict[str, object]:
    """Return the document, read back and held against its schema."""
    return checked(to_json(comparison), "comparison")


def test_the_document_keeps_to_its_schema() -> None:
    """Differences, small ones, figures that are alike, and what is missing."""
    document = as_json(compare(BEFORE, AFTER))
    assert (document["alike"], document["missing"]) == (
        1,
        ["copies to the GPU, pinned: only in the first. The copy went wrong."],
    )
    as_json(compare(session(device=None), BEFORE))


def test_a_difference_in_the_document() -> None:
    """Each difference has both figures, the change and which side is worse."""
    (difference,) = compare(
        session(figure("l2.poll", 500.0, "ns", pollers=131)),
        session(figure("l2.poll", 1000.0, "ns", pollers=131)),
    ).differences
    comparison = compare(
        session(difference.before),
        session(difference.after),
    )
    assert as_json(comparison)["differences"] == [
        {
            "name": "l2.poll",
            "parameters": {"pollers": 131},
            "what": "a write until all SMs have seen it (pollers 131)",
            "unit": "ns",
            "before": {"value": 500.0, "low": 500.0, "high": 500.0},
            "after": {"value": 1000.0, "low": 1000.0, "high": 1000.0},
            "change": 1.0,
            "worse": True,
            "decides": "what a barrier over the whole grid costs",
        }
    ]
