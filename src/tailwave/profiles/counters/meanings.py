"""Words that people measure GPUs by, and names that no chip has: the counters that they mean.

None of the names with two underscores is in the list of any chip from GV100 to GB202. Where a
formula of counters that exist was published, its units do not fit; what it was after can be
measured all the same.
"""

from __future__ import annotations

import re

import msgspec

_LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"
_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
_FABRIC = "lts__t_sectors_srcunit_ltcfabric.sum.pct_of_peak_sustained_elapsed"
_ISSUED = "smsp__issue_active.avg.per_cycle_active"
_SHARED_SECTORS = "shared memory has no sectors; conflicts show in its wavefronts"
_SHARED = (
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
)
_SEPARATORS = re.compile(r"[\s_-]+")


class CounterWord(msgspec.Struct, frozen=True):
    """What a word means, in a sentence, and the counters that measure it.

    ``names`` are its spellings.
    """

    names: tuple[str, ...]
    says: str
    counters: tuple[str, ...]


MEANINGS = (
    CounterWord(
        ("L2 hit rate", "L2 hits", "命中率"),
        "of the sectors that the L2 was asked for, those that it had",
        ("lts__t_sector_hit_rate.pct",),
    ),
    CounterWord(
        ("issue gap", "issue gap ratio"),
        (
            "scheduler cycles without an issue; (x - 1) / x of x instructions a warp, as "
            "published, is no gap"
        ),
        (_ISSUED,),
    ),
    CounterWord(
        ("stall rate", "stalls"),
        "what warps wait for: each reason's share of their latency between two instructions",
        (
            *(
                _STALL.format(reason)
                for reason in (
                    *("long_scoreboard", "short_scoreboard", "barrier", "lg_throttle"),
                    *("mio_throttle", "math_pipe_throttle", "wait", "dispatch_stall"),
                )
            ),
            _LATENCY,
        ),
    ),
    CounterWord(
        ("GPU utilisation", "GPU utilization", "GPU util", "SM utilisation", "利用率"),
        (
            "nvidia-smi's is the time in which any kernel ran, on however few SMs; these are the "
            "part of the time that the average SM worked, and of its peak that it reached"
        ),
        (
            "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
            "sm__throughput.avg.pct_of_peak_sustained_elapsed",
        ),
    ),
    CounterWord(
        ("snoop", "cross-GPC", "cross-GPC traffic"),
        (
            "no GPU's L1 is snooped, and GPCs do not talk to each other; what crosses is traffic "
            "between the partitions of the L2"
        ),
        (_FABRIC, "lts__t_sectors_srcunit_ltcfabric.sum", "lts__ltcfabric2lts_cycles_stalled.sum"),
    ),
    CounterWord(("sms__warps_launched",), "the unit is called sm", ("sm__warps_launched.sum",)),
    CounterWord(
        ("sms__warps_active",),
        (
            "the unit is called sm; it counts warps in flight in each cycle, so it is no number of "
            "warps to subtract from those launched"
        ),
        ("sm__warps_active.avg.per_cycle_active",),
    ),
    CounterWord(("sms__inst_issued",), "the unit is called sm", ("sm__inst_issued.sum",)),
    CounterWord(("sms__inst_executed",), "the unit is called sm", ("sm__inst_executed.sum",)),
    CounterWord(
        ("sms__inst_executed_per_warp",),
        "instructions a warp executes in its life; it tells nothing of gaps between issues",
        ("smsp__average_inst_executed_per_warp.ratio", _ISSUED),
    ),
    CounterWord(
        ("gpu__arbitration__cycles_stalled", "arbiter", "arbitration", "仲裁器"),
        (
            "no unit of the GPU arbitrates between SMs; what holds traffic up is the way to the L2 "
            "and the fabric between its partitions"
        ),
        (
            "l1tex__m_l1tex2xbar_req_cycles_active.avg.pct_of_peak_sustained_elapsed",
            "lts__ltcfabric2lts_cycles_stalled.sum",
            _STALL.format("lg_throttle"),
        ),
    ),
    CounterWord(
        ("gpu__arbitration__requests",),
        "requests that reach the L2, and those that cross between its partitions",
        ("lts__t_requests.sum", "lts__t_requests_srcunit_ltcfabric.sum", _FABRIC),
    ),
    CounterWord(
        ("shared__inst_executed",),
        "instructions on shared memory",
        ("smsp__sass_inst_executed_op_shared.sum",),
    ),
    CounterWord(
        ("shared__inst_issued",),
        "instructions on shared memory; issued again they are not, conflicts take wavefronts",
        ("smsp__sass_inst_executed_op_shared.sum",),
    ),
    CounterWord(("shared__inst_executed_per_sector",), _SHARED_SECTORS, _SHARED),
    CounterWord(("shared__inst_issued_per_sector",), _SHARED_SECTORS, _SHARED),
    CounterWord(
        ("stall due to dispatch latency",),
        (
            "(warps launched - warps active) / warps launched mixes a count with warps times "
            "cycles; meant was the share of warps' latency that they wait for dispatch"
        ),
        (
            _STALL.format("dispatch_stall"),
            _LATENCY,
            "sm__cycles_active.min",
            "sm__cycles_active.max",
        ),
    ),
    CounterWord(
        ("stall due to memory dependency",),
        (
            "(issued - executed) / issued is the share of instructions issued again, near 0; meant "
            "was the share of warps' latency that they wait for memory"
        ),
        (_STALL.format("long_scoreboard"), _STALL.format("lg_throttle"), _LATENCY),
    ),
)


def plain(text: str) -> str:
    """Return a word or name as it is compared: "bank-conflict" for "Bank_Conflict".

    Any row of spaces, underscores and hyphens is one separator.
    """
    return _SEPARATORS.sub("-", text.strip().lower())


# Counters that were written about and that no chip from GV100 to GB202 has.
MADE_UP = {name: meaning for meaning in MEANINGS for name in meaning.names if "__" in name}

_BY_NAME = {plain(name): meaning for meaning in MEANINGS for name in meaning.names}


def meant(word: str) -> CounterWord | None:
    """Return what is meant by a word, in any spelling, or by a counter's name; None for others."""
    name = plain(word.partition(".")[0])
    return _BY_NAME.get(name) or _BY_NAME.get(name.removesuffix("s"))
