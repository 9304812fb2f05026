"""Names that were written about and that no chip has, and the counters of what they meant.

None of them is in the list of any chip from GV100 to GB202. Where a formula of counters that exist
was proposed, its units do not fit; what it was after can be measured all the same.
"""

from __future__ import annotations

_LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"
_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
_FABRIC = "lts__t_sectors_srcunit_ltcfabric.sum.pct_of_peak_sustained_elapsed"

# Name -> what is right in a sentence, and the counters to record.
MEANT: dict[str, tuple[str, tuple[str, ...]]] = {
    "sms__warps_launched": ("the unit is called sm", ("sm__warps_launched.sum",)),
    "sms__warps_active": (
        (
            "the unit is called sm; it counts warps in flight in each cycle, so it is no number of "
            "warps to subtract from those launched"
        ),
        ("sm__warps_active.avg.per_cycle_active",),
    ),
    "sms__inst_issued": ("the unit is called sm", ("sm__inst_issued.sum",)),
    "sms__inst_executed": ("the unit is called sm", ("sm__inst_executed.sum",)),
    "sms__inst_executed_per_warp": (
        "instructions a warp executes in its life; it tells nothing of gaps between issues",
        ("smsp__average_inst_executed_per_warp.ratio", "smsp__issue_active.avg.per_cycle_active"),
    ),
    "gpu__arbitration__cycles_stalled": (
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
    "gpu__arbitration__requests": (
        "requests that reach the L2, and those that cross between its partitions",
        ("lts__t_requests.sum", "lts__t_requests_srcunit_ltcfabric.sum", _FABRIC),
    ),
    "shared__inst_executed": (
        "instructions on shared memory",
        ("smsp__sass_inst_executed_op_shared.sum",),
    ),
    "shared__inst_issued": (
        "instructions on shared memory; issued again they are not, conflicts take wavefronts",
        ("smsp__sass_inst_executed_op_shared.sum",),
    ),
    "shared__inst_executed_per_sector": (
        "shared memory has no sectors; conflicts show in its wavefronts",
        (
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
            "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
        ),
    ),
    "shared__inst_issued_per_sector": (
        "shared memory has no sectors; conflicts show in its wavefronts",
        (
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
            "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
        ),
    ),
    "stall due to dispatch latency": (
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
    "stall due to memory dependency": (
        (
            "(issued - executed) / issued is the share of instructions issued again, near 0; meant "
            "was the share of warps' latency that they wait for memory"
        ),
        (_STALL.format("long_scoreboard"), _STALL.format("lg_throttle"), _LATENCY),
    ),
    "issue gap ratio": (
        (
            "(x - 1) / x of x instructions a warp is no gap; meant were scheduler cycles without "
            "an issue"
        ),
        ("smsp__issue_active.avg.per_cycle_active",),
    ),
}


def meant_by(name: str) -> tuple[str, tuple[str, ...]] | None:
    """Return what was meant by a name, and the counters for it; None for other names."""
    return MEANT.get(name.strip().lower().partition(".")[0])
