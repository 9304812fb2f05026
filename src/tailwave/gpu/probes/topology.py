"""Which SMs share a TPC, a CPC and a GPC?

Published, SMs of the GPCs (GPUNetBench): V100 4 x 14 and 2 x 12, A100 5 x 16 and 2 x 14, H100 PCIe
18 and 6 x 16; no map of an SXM card.

The article speaks of arbiters of each GPC and never says which SM is in which. No interface tells;
``die`` draws the map from clusters that ran together and from latency fingerprints. What fabric
and cache cost between two SMs depends on it, and it differs from card to card of one model, for
other TPCs are switched off in each.

- ``topology.map`` (table): TPC, GPC, CPC (empty where it does not show) and confidence of each SM.
- ``topology.gpcs`` (figure): how many GPCs there are; (``topology.sizes``, table): SMs and TPCs of
  each.
- ``topology.tpcs``: how many TPCs there are.
- ``topology.largest_gpc``, ``topology.smallest_gpc``: their SMs. Where they differ, a grid that
  fills the smallest GPCs evenly leaves SMs of the largest idle.
- ``topology.confidence``: the confidence of the least sure SM.
"""

from __future__ import annotations

from tailwave.gpu.probes.lab import Lab
from tailwave.gpu.probes.measure import Figure
from tailwave.gpu.probes.parts import Better, Headline, Part, Probe, Results


def _map(lab: Lab) -> Results:
    die = lab.die
    yield lab.table(
        "topology.map",
        "",
        ("tpc", "gpc", "cpc", "confidence"),
        {p.sm: (p.tpc, p.gpc, p.cpc, p.confidence) for p in die.places},
    )
    tpcs = [len({die.place(sm).tpc for sm in sms}) for sms in die.gpcs]
    gpcs = zip(map(len, die.gpcs), tpcs, strict=True)
    yield lab.table("topology.sizes", "", ("sms", "tpcs"), dict(enumerate(gpcs)))
    sizes = [len(sms) for sms in die.gpcs]
    for name, unit, value in (
        ("topology.gpcs", "GPCs", len(sizes)),
        ("topology.tpcs", "TPCs", len(die.tpcs)),
        ("topology.largest_gpc", "SMs", max(sizes)),
        ("topology.smallest_gpc", "SMs", min(sizes)),
        ("topology.confidence", "ratio", min(place.confidence for place in die.places)),
    ):
        figure = Figure(name, unit, headline=name == "topology.gpcs")
        yield lab.summed_up(figure, [value])


HEADLINES = {
    "topology.gpcs": Headline(
        "the number of GPCs",
        Better.NEITHER,
        "how large a cluster of CTAs can be, and which SMs share ports to L2",
    ),
}
PROBE = Probe(
    "topology",
    (
        Part(
            (
                "topology.map",
                "topology.sizes",
                "topology.gpcs",
                "topology.tpcs",
                "topology.largest_gpc",
                "topology.smallest_gpc",
                "topology.confidence",
            ),
            _map,
        ),
    ),
    HEADLINES,
)
