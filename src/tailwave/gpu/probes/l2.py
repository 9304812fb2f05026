"""What does L2 give: latency, bandwidth, and lines shared between SMs?

Published latency: A100 200 cycles near and 400 far (Jin et al., MICRO 2024), H100 SXM 291 and GH200
281 over all slices (AI_kernels). Bandwidth: A100 5.4, H100 PCIe 7.1, H200 9.9 TB/s (L1 allowed).

The article says that sharing got slower with the number of SMs squared, by messages of a protocol
that GPUs do not have (SMs keep no coherent lines; L2 is the one place of a line). Here:

- ``l2.latency`` (table): least cycles of a read from each SM to each of many lines.
- ``l2.latency_mean``, ``_min``, ``_max``: of an SM's row, the median over SMs.
- ``l2.partitions``: 2 where lines fall in two groups, each near to one part of the SMs, else 1.
  From the matrix the means of rows and columns are taken away, and the lines' weights in its first
  principal component are cut in two; two groups are named only when the cut explains 80% of their
  variance, which no single hump does (uniform: 75%).
- ``l2.far``: cycles that the far group costs more than the near one, from the median SM.
- ``l2.bandwidth``: GB/s that all SMs read together, by working set (``mib``).
- ``l2.share``: cycles of a round trip of one line between two SMs, by ``where`` the partner is; in
  another GPC, the mean over the first SMs of all others.
- ``l2.share_by_sm`` (table): such a round trip from the first SM to the first of each TPC.
- ``l2.poll``: from a write until the last of ``pollers`` SMs that poll the line has answered (ns).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

import numpy as np

from tailwave.gpu.devices.base import Buffer, DeviceFailedError, NotSupportedError
from tailwave.gpu.probes.groups import cut_in_two
from tailwave.gpu.probes.lab import Lab
from tailwave.gpu.probes.measure import Figure
from tailwave.gpu.probes.parts import Better, Headline, Part, Probe, Results
from tailwave.gpu.probes.traffic import stream
from tailwave.model import Flags, Floats, Table

_MIB_WORDS = (1 << 20) // 8
# Shares of L2: well inside, half full (one partition of it), all but full, and beyond.
_SHARES_OF_L2 = (1 / 16, 1 / 4, 1 / 2, 3 / 4, 2)
_HEADLINE_SHARE = 1 / 4
_BYTES_PER_SM = 4 << 20
# A line's place in L2 decides what it costs; some lines apart average that out.
_FLAGS = 8
_FLAG_WORDS = 65_536
_FLAG_CLEAR = 32  # what a round that was given up may have left
_ROUNDS = 50
_POLLERS = (1, 4, 16, 64)


def _latency(lab: Lab) -> Results:
    matrix = lab.latencies
    rows = dict(zip(lab.sms, matrix.tolist(), strict=True))
    yield lab.table("l2.latency", "clk", range(matrix.shape[1]), rows)
    clock = lab.clock_mhz()
    for name, by_sm, headline in (
        ("l2.latency_mean", matrix.mean(axis=1), True),
        ("l2.latency_min", matrix.min(axis=1), False),
        ("l2.latency_max", matrix.max(axis=1), False),
    ):
        figure = Figure(name, "clk", headline=headline)
        yield lab.summed_up(figure, by_sm.tolist(), clock)


def _partitions(lab: Lab) -> Results:
    sides = line_sides(lab.latencies)
    figure = Figure("l2.partitions", "partitions", headline=True)
    yield lab.summed_up(figure, [1 if sides is None else 2])
    far = Figure("l2.far", "clk")
    if sides is None:
        reason = NotSupportedError("Lines do not fall into near and far ones here.")
        yield lab.refused(far, reason)
        return
    one, other = (lab.latencies[:, sides == side].mean(axis=1) for side in (False, True))
    yield lab.summed_up(far, np.abs(one - other).tolist())


def line_sides(matrix: Floats) -> Flags | None:
    """Tell for each line on which side of L2 it is, or None when there are no two sides."""
    centred = matrix - matrix.mean(axis=1, keepdims=True) - matrix.mean(axis=0) + matrix.mean()
    weights = np.linalg.svd(centred, full_matrices=False)[2][0]
    cut = cut_in_two(weights.tolist())
    return weights > cut.at if cut.two_humps else None


def _bandwidth(lab: Lab) -> Results:
    l2_bytes = lab.device.facts.l2_bytes
    if l2_bytes == 0:
        raise NotSupportedError("The size of L2 is not known here.")
    for share in _SHARES_OF_L2:
        mib = max(1, round(share * l2_bytes / (1 << 20)))
        passes = max(1, _BYTES_PER_SM // (mib << 20))
        with lab.words(mib * _MIB_WORDS) as data:
            yield lab.measure(
                "l2.bandwidth",
                "GB/s",
                partial(_read_rate, lab, data, passes),
                parameters={"mib": mib},
                headline=share == _HEADLINE_SHARE,
            )


def _read_rate(lab: Lab, data: Buffer, passes: int) -> float:
    return stream(lab, "read", data, passes, lab.sms).rate


def _share(lab: Lab) -> Results:
    with _flags(lab) as flags:
        for where, partners in _partners(lab).items():
            yield lab.measure(
                "l2.share",
                "clk",
                partial(_round_trip, lab, flags, partners),
                parameters={"where": where},
                headline=True,
            )
        yield _share_by_sm(lab, flags)


def _partners(lab: Lab) -> dict[str, list[int]]:
    """Return partners for the first SM: in its TPC, elsewhere in its GPC, in each other GPC."""
    own, *others = lab.die.gpcs
    tpc = next(tpc for tpc in lab.die.tpcs if own[0] in tpc)
    found = {
        "same_tpc": list(tpc[1:2]),
        "same_gpc": [sm for sm in own if sm not in tpc][:1],
        "other_gpc": [gpc[0] for gpc in others],
    }
    return {where: partners for where, partners in found.items() if partners}


def _share_by_sm(lab: Lab, flags: Sequence[Buffer]) -> Table:
    partners = [tpc[0] for tpc in lab.die.tpcs if lab.sms[0] not in tpc]
    trips = {sm: (_round_trip(lab, flags, [sm]),) for sm in partners}
    return lab.table("l2.share_by_sm", "clk", ("round_trip",), trips)


@contextmanager
def _flags(lab: Lab) -> Iterator[list[Buffer]]:
    """Take some lines apart from each other."""
    with ExitStack() as stack:
        yield [stack.enter_context(lab.words(_FLAG_WORDS)) for _ in range(_FLAGS)]


def _round_trip(lab: Lab, flags: Sequence[Buffer], partners: Sequence[int]) -> float:
    """Return the mean over lines and partners."""
    trips = [_one_round_trip(lab, flag, partner) for flag in flags for partner in partners]
    return float(np.mean(trips))


def _one_round_trip(lab: Lab, flag: Buffer, partner: int) -> float:
    flag.write(np.zeros(_FLAG_CLEAR, dtype=np.uint64))
    ends = lab.sms[0], partner
    (cycles,) = lab.output(1, "pingpong", lab.sm_count, 32, flag, _ROUNDS, *ends, shared=-1)
    if cycles == 0:
        raise DeviceFailedError(f"SMs {lab.sms[0]} and {partner} did not meet.")
    return float(cycles) / _ROUNDS


def _poll(lab: Lab) -> Results:
    writer, *others = lab.sms
    with _flags(lab) as flags:
        for count in sorted({min(count, len(others)) for count in (*_POLLERS, len(others))}):
            yield lab.measure(
                "l2.poll",
                "ns",
                partial(_seen_after, lab, flags, writer, others[:count]),
                parameters={"pollers": count},
                headline=count == len(others),
            )


def _seen_after(lab: Lab, flags: Sequence[Buffer], writer: int, pollers: Sequence[int]) -> float:
    return float(np.mean([_one_seen_after(lab, flag, writer, pollers) for flag in flags]))


def _one_seen_after(lab: Lab, flag: Buffer, writer: int, pollers: Sequence[int]) -> float:
    mask = lab.mask(pollers)
    flag.write(np.zeros(_FLAG_CLEAR, dtype=np.uint64))
    with lab.words(len(mask)) as selected:
        selected.write(mask)
        args = (flag, _ROUNDS, writer, selected)
        times = lab.output(_ROUNDS, "poll", lab.sm_count, 32, *args, shared=-1)
    if not times.all():
        raise DeviceFailedError(f"Of {len(pollers)} pollers not all saw every write.")
    return float(np.median(times))


HEADLINES = {
    "l2.latency_mean": Headline(
        "the latency of L2",
        Better.LESS,
        "how long a kernel with little parallelism waits for each read",
    ),
    "l2.partitions": Headline(
        "the number of L2 partitions",
        Better.NEITHER,
        "whether it matters which SM reads which line",
    ),
    "l2.bandwidth": Headline(
        "the bandwidth of L2", Better.MORE, "how fast kernels run whose data fit L2"
    ),
    "l2.share": Headline(
        "a flag between two SMs and back",
        Better.LESS,
        "what CTAs pay that wait for each other inside a kernel",
    ),
    "l2.poll": Headline(
        "a write until all SMs have seen it",
        Better.LESS,
        "what a barrier over the whole grid costs",
    ),
}
PROBE = Probe(
    "l2",
    (
        Part(("l2.latency", "l2.latency_mean", "l2.latency_min", "l2.latency_max"), _latency),
        Part(("l2.partitions", "l2.far"), _partitions),
        Part(("l2.bandwidth",), _bandwidth),
        Part(("l2.share", "l2.share_by_sm"), _share),
        Part(("l2.poll",), _poll),
    ),
    HEADLINES,
)
