"""The GPU idles in the middle of a graph launch.

What it means:
    A graph's nodes follow each other without the host, so no launch is waited for: something
    within the graph takes time that is not recorded. That is a node on the host (a callback, a
    memory node), a node that waits for another stream or GPU, or kernels that the recorder lost.

How it is found:
    An idle gap of more than 100 us that is ended by a node of a graph whose launch had arrived.

What cures it:
    Look at the graph's nodes (cudaGraphDebugDotPrint) for host nodes and for edges that join
    branches; record again with larger buffers where the notes say that events are missing.

What fools it:
    A recorder that drops events leaves holes where kernels ran.
"""

from __future__ import annotations

from tailwave.figures import time
from tailwave.model import Finding
from tailwave.recordings.causes.build import finding, idle_before, taken_alone
from tailwave.recordings.replay.division import Cause
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.timeline.case import Case

CODE = "graph-holes"


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Weigh the holes inside graph launches."""
    taken = forecast.division.us(Cause.GRAPH)
    pieces = forecast.division.pieces
    mine = pieces.cause == Cause.GRAPH
    brings = taken_alone(forecast, taken)
    longest = float(pieces.ns[mine].max(initial=0)) / 1e3
    claim = (
        f"The GPU idles {brings.part} of each step ({time(taken)}) inside graph launches, in holes "
        f"of up to {time(longest)}: no launch is waited for, the graph itself holds what takes "
        "that time."
    )
    return finding(
        brings,
        code=CODE,
        title="Holes inside graph launches",
        claim=claim,
        evidence=idle_before(case, forecast, Cause.GRAPH),
        cures=(),
    )
