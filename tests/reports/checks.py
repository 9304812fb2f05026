"""Sessions of a check made by hand, as the command would hand them to a report."""

from __future__ import annotations

import msgspec

from tailwave.model import Basis, Criterion, Health, Session, Status, Table, Verdict
from tests.measured import SIMULATED, figure, session, without

LAUNCH = Verdict(
    link="launch",
    health=Health.OK,
    claim="graph node 0.500 us, stream launch 3.50 us",
    meaning="A chain of 1,000 small kernels costs 3.50 ms in a stream and 0.500 ms as a graph.",
    criteria=(
        Criterion(
            what="a graph node against a launch in a full stream",
            basis=Basis.ANY_GPU,
            health=Health.OK,
            value=0.143,
            unit="x",
            most=1.0,
        ),
        Criterion(
            what="a node of a CUDA graph",
            basis=Basis.REFERENCE,
            health=Health.OK,
            value=0.5,
            unit="us",
            most=0.52,
        ),
    ),
)
COPY = Verdict(
    link="copy",
    health=Health.WARNING,
    claim="to the GPU 26.8 GB/s",
    meaning="A GiB to the GPU takes 40 ms from pinned memory.",
    criteria=(
        Criterion(
            what="the link's width under load, of what both ends could do",
            basis=Basis.ANY_GPU,
            health=Health.WARNING,
            value=8.0,
            unit="lanes",
            least=16.0,
        ),
        Criterion(
            what="copies to the GPU, pinned",
            basis=Basis.REFERENCE,
            health=Health.UNKNOWN,
            reason="How fast this host is against the reference's is not known.",
        ),
    ),
)
ISOLATION = Verdict(
    link="isolation",
    health=Health.UNKNOWN,
    claim="not measured",
    meaning="This driver cannot split the SMs.",
)
FIGURES = (
    msgspec.structs.replace(
        figure("launch.graph_node", 0.5, "us", spread=0.02),
        samples=(0.49, 0.5, 0.51),
        clock_mhz=1980.0,
        outliers=1,
    ),
    figure("copy.link_width", 8.0, "lanes", most=16),
    without("interference.partition", Status.UNSUPPORTED, "This driver cannot split the SMs."),
    without("context.partition_create", Status.UNSUPPORTED, "This driver cannot split the SMs."),
)
REFERENCE = "NVIDIA H200, 5 runs, shipped with tailwave"
HEALTHY = session(FIGURES[0], verdicts=(LAUNCH,), health=Health.OK, reference=REFERENCE)
NARROW = session(
    *FIGURES,
    verdicts=(LAUNCH, COPY, ISOLATION),
    health=Health.WARNING,
    notes=("Only what holds on any GPU was judged: there is no reference for NVIDIA H200.",),
)
LOST = session(
    FIGURES[0],
    without("copy", Status.FAILED, "The GPU stopped answering."),
    verdicts=(LAUNCH,),
    health=Health.CRITICAL,
    cut_short="The GPU stopped answering.",
)
NO_DEVICE = session(
    device=None, seconds=0.0, cut_short="There is no CUDA driver here.", health=Health.UNKNOWN
)
SIMULATION = msgspec.structs.replace(HEALTHY, device=SIMULATED, reference="")

_LATENCIES = ((280.0, 320.0), (281.0, 321.0), (318.0, 279.0), (319.0, None))
MAPPED = session(
    Table(
        name="topology.map",
        unit="",
        rows=("0", "1", "2", "3"),
        columns=("tpc", "gpc", "cpc", "confidence"),
        values=(
            (0.0, 0.0, None, 1.0),
            (0.0, 0.0, None, 1.0),
            (1.0, 1.0, None, 1.0),
            (1.0, 1.0, None, 1.0),
        ),
    ),
    Table(
        name="l2.latency",
        unit="clk",
        rows=("0", "1", "2", "3"),
        columns=("0", "1"),
        values=_LATENCIES,
    ),
)


def mapped(gpcs: int, tpcs: int) -> Session:
    """A session with a die of so many GPCs of so many TPCs, each SM as far as its number."""
    places = [(g * tpcs + t, g) for g in range(gpcs) for t in range(tpcs) for _ in range(2)]
    names = tuple(str(sm) for sm in range(len(places)))
    rows = tuple((float(tpc), float(gpc)) for tpc, gpc in places)
    latencies = tuple((200.0 + sm, 201.0 + sm) for sm in range(len(places)))
    return session(
        Table("topology.map", "", names, ("tpc", "gpc"), rows),
        Table("l2.latency", "clk", names, ("0", "1"), latencies),
    )
