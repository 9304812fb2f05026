"""How does the fabric between SMs and L2 hold up when many SMs use it?

Published, speed-up of reads and writes (GPUNetBench): in a TPC V100 1.80 and 1.14, A100 1.70 and
1.94, H100 PCIe 1.95 and 2.00; in a GPC H100 PCIe 9.10 and 12.38. Atomic additions to one word:
27 to 49 G/s on a B300 (QuickRunCUDA).

The article's arbiter test (ARB) made real: its kernel never left one SM, and the counters it names
do not exist. Here chosen SMs stream L2-resident data with 16-byte accesses that bypass L1:

- ``fabric.single_sm``: bytes per clock of one SM alone (``op`` read or write). It has to be the
  SM's own ceiling, or contention cannot be told from a kernel that asks for too little and the
  speed-ups below mean nothing. With 128 KiB of reads in flight, several times what latency needs,
  nothing but its port holds an SM back: 92 bytes per clock on an H200, and 32 for writes.
- ``fabric.speedup_tpc``, ``_gpc``, ``_spread``, ``_chip``: bandwidth of both SMs of a TPC, of
  ``sms`` SMs of one GPC, of as many over all GPCs, and of all SMs, over that of one SM alone. As
  many as SMs is no contention; ``_gpc`` below ``_spread`` is what the GPC's own port costs.
- ``fabric.fairness``: rate of the slowest SM over that of the fastest with all reading.
- ``fabric.loaded_latency``: cycles of a dependent read from one SM while ``aggressors`` others
  stream, ``where`` in its own GPC or in others; ``quantile`` p50 and p99 of some thousand reads.
- ``fabric.same_line_atomics``: thread-level atomic additions per nanosecond (G/s) of all SMs, their
  addresses ``stride`` bytes apart by SM: 0 is one word for all. A warp's 32 are joined into one, as
  compilers do where all threads add the same; where they cannot, 32 times fewer get through.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tailwave.gpu.devices.base import Buffer, DeviceFailedError
from tailwave.gpu.probes.lab import Lab
from tailwave.gpu.probes.measure import Figure
from tailwave.gpu.probes.parts import Better, Headline, Part, Probe, Results
from tailwave.gpu.probes.traffic import flow, stream
from tailwave.model import Floats, Measurement, Parameters

# Well inside any L2, and enough for each SM to be busy for tens of microseconds.
_DATA_WORDS = (2 << 20) // 8
_PASSES = 4
_OPS = ("read", "write")
_SPEEDUP_NAMES = (
    "fabric.speedup_tpc",
    "fabric.speedup_gpc",
    "fabric.speedup_spread",
    "fabric.speedup_chip",
)
_THREADS = 1024
_READS = 4096
_VICTIM, _AGGRESSOR = 2, 1
_AGGRESSORS = (1, 4, 16, 64)
_STRIDES = (0, 32, 4096)
_ATOMIC_THREADS = 256
_ATOMIC_ITERATIONS = 64


def _single(lab: Lab) -> Results:
    with lab.words(_DATA_WORDS) as data:
        for op in _OPS:
            yield lab.measure(
                "fabric.single_sm",
                "B/clk",
                partial(_bytes_per_clock, lab, data, op),
                parameters={"op": op},
                headline=True,
            )


def _bytes_per_clock(lab: Lab, data: Buffer, op: str) -> float:
    return stream(lab, op, data, _PASSES, lab.sms[:1]).per_clock


def _speedups(lab: Lab) -> Results:
    with lab.words(_DATA_WORDS) as data:
        for op in _OPS:
            for name, sms in zip(_SPEEDUP_NAMES, _sets(lab), strict=True):
                yield _speedup(lab, data, name, op, sms)


def _sets(lab: Lab) -> tuple[tuple[int, ...], ...]:
    """Return the SMs of a TPC, of a GPC, as many spread over all GPCs, and all."""
    gpcs = lab.die.gpcs
    count = min(map(len, gpcs))
    first = gpcs[0][:count]
    tpc = next(tpc for tpc in lab.die.tpcs if first[0] in tpc)
    return tpc, first, spread(gpcs, count), lab.sms


def spread(gpcs: Sequence[Sequence[int]], count: int) -> tuple[int, ...]:
    """Choose SMs from all GPCs by turns, of each the ones furthest apart in its list."""
    turns = -(-count // len(gpcs))
    chosen = [sms[turn * len(sms) // turns] for turn in range(turns) for sms in gpcs]
    return tuple(sorted(chosen[:count]))


def _speedup(lab: Lab, data: Buffer, name: str, op: str, sms: Sequence[int]) -> Measurement:
    def sample() -> float:
        alone = stream(lab, op, data, _PASSES, sms[:1]).rate
        return stream(lab, op, data, _PASSES, sms).rate / alone

    parameters: Parameters = {"op": op, "sms": len(sms)}
    return lab.measure(name, "ratio", sample, parameters=parameters, headline=True)


def _fairness(lab: Lab) -> Results:
    with lab.words(_DATA_WORDS) as data:
        yield lab.measure(
            "fabric.fairness",
            "ratio",
            lambda: stream(lab, "read", data, _PASSES, lab.sms).fairness,
            parameters={"op": "read"},
            headline=True,
        )


def _loaded(lab: Lab) -> Results:
    victim, own, others = _neighbours(lab)
    with lab.words(_DATA_WORDS) as data:
        read = partial(_victim_latencies, lab, data, victim)
        for where, sms in (("nowhere", ()), ("same_gpc", own), ("other_gpcs", others)):
            for count in sorted({min(count, len(sms)) for count in (*_AGGRESSORS, len(sms))}):
                figure = Figure(
                    "fabric.loaded_latency",
                    "clk",
                    {"where": where, "aggressors": count},
                    headline=count == len(sms),
                )
                yield from lab.quantiles(figure, partial(read, sms[:count]))


def _neighbours(lab: Lab) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Return a victim, the SMs of its GPC outside its TPC, and those of other GPCs by turns."""
    first, *rest = lab.die.gpcs
    victim = first[0]
    tpc = lab.die.place(victim).tpc
    own = tuple(sm for sm in first if lab.die.place(sm).tpc != tpc)
    longest = max(map(len, rest), default=0)
    others = tuple(sms[i] for i in range(longest) for sms in rest if i < len(sms))
    return victim, own, others


def _victim_latencies(lab: Lab, data: Buffer, victim: int, aggressors: Sequence[int]) -> Floats:
    roles = lab.mask(aggressors, _AGGRESSOR)
    roles[victim] = _VICTIM
    with lab.words(len(roles)) as role:
        role.write(roles)
        args = (data, data.words, _READS, role)
        out = lab.output(_READS + 1, "loaded", lab.sm_count, _THREADS, *args, shared=-1)
    words = out.astype(np.float64)
    if words[_READS] != len(aggressors) or not words[:_READS].all():
        raise DeviceFailedError(
            f"Of {len(aggressors)} aggressors {words[_READS]:.0f} ran beside the victim."
        )
    return words[:_READS]


def _atomics(lab: Lab) -> Results:
    for stride in _STRIDES:
        with lab.words((lab.sms[-1] + 1) * max(stride, 8) // 8 + 1) as data:
            yield lab.measure(
                "fabric.same_line_atomics",
                "G/s",
                partial(_atomic_rate, lab, data, stride),
                parameters={"stride": stride},
                headline=stride == 0,
            )


def _atomic_rate(lab: Lab, data: Buffer, stride: int) -> float:
    args = (data, stride, _ATOMIC_ITERATIONS)
    return flow(lab, "atomics", _ATOMIC_THREADS, args, lab.sms).rate


HEADLINES = {
    "fabric.single_sm": Headline(
        "the L2 bandwidth of an SM alone", Better.MORE, "how fast a kernel on few SMs is fed"
    ),
    "fabric.speedup_tpc": Headline(
        "the bandwidth of a TPC, in SMs",
        Better.MORE,
        "whether two CTAs on neighbouring SMs hold each other up",
    ),
    "fabric.speedup_gpc": Headline(
        "the bandwidth of a GPC, in SMs", Better.MORE, "what work that is kept in one GPC is fed"
    ),
    "fabric.speedup_spread": Headline(
        "the bandwidth of SMs spread over GPCs, in SMs",
        Better.MORE,
        "what small grids are fed when the dispatcher spreads them",
    ),
    "fabric.speedup_chip": Headline(
        "the bandwidth of all SMs, in SMs",
        Better.MORE,
        "how far work bound by L2 gains from more SMs",
    ),
    "fabric.fairness": Headline(
        "the slowest SM's share of bandwidth",
        Better.MORE,
        "how long a grid bound by L2 waits for its last CTA",
    ),
    "fabric.loaded_latency": Headline(
        "the latency of L2 beside other SMs' reads",
        Better.LESS,
        "how much slower a kernel that waits for memory runs beside a busy one",
    ),
    "fabric.same_line_atomics": Headline(
        "atomic additions to one word",
        Better.MORE,
        "how fast counters, histograms and work queues shared by all SMs are",
    ),
}
PROBE = Probe(
    "fabric",
    (
        Part(("fabric.single_sm",), _single),
        Part(_SPEEDUP_NAMES, _speedups),
        Part(("fabric.fairness",), _fairness),
        Part(("fabric.loaded_latency",), _loaded),
        Part(("fabric.same_line_atomics",), _atomics),
    ),
    HEADLINES,
)
