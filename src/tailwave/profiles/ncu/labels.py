"""The metrics behind the labels of ncu's details page, which does not write their names.

From the sections of ncu 2025.3 and of the older versions that its users still export with. Where
one label stands for two metrics, the unit tells them apart. Labels of metrics that nothing
asks for, or whose metric is another in each version ("SM Busy"), are left as they are.
"""

from __future__ import annotations

_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
_ELAPSED = ".avg.pct_of_peak_sustained_elapsed"
_ACTIVE = ".avg.pct_of_peak_sustained_active"

_PER_SECOND = {"Memory Throughput": "dram__bytes.sum.per_second"}
_LABELS = {
    # GPU Speed Of Light Throughput
    "Compute (SM) Throughput": f"sm__throughput{_ELAPSED}",
    "Compute (SM) [%]": f"sm__throughput{_ELAPSED}",
    "SM [%]": f"sm__throughput{_ELAPSED}",
    "SOL SM": f"sm__throughput{_ELAPSED}",
    "SOL Memory": f"gpu__compute_memory_throughput{_ELAPSED}",
    "SOL FB": f"gpu__dram_throughput{_ELAPSED}",
    "SOL DRAM": f"gpu__dram_throughput{_ELAPSED}",
    "SOL L2": f"lts__throughput{_ELAPSED}",
    "SOL L2 Cache": f"lts__throughput{_ELAPSED}",
    "SOL TEX": f"l1tex__throughput{_ACTIVE}",
    "SOL L1/TEX Cache": f"l1tex__throughput{_ACTIVE}",
    "Memory Throughput": f"gpu__compute_memory_throughput{_ELAPSED}",
    "Memory [%]": f"gpu__compute_memory_throughput{_ELAPSED}",
    "DRAM Throughput": f"gpu__dram_throughput{_ELAPSED}",
    "L1/TEX Cache Throughput": f"l1tex__throughput{_ACTIVE}",
    "L2 Cache Throughput": f"lts__throughput{_ELAPSED}",
    "Duration": "gpu__time_duration.sum",
    "Elapsed Cycles": "gpc__cycles_elapsed.max",
    "SM Active Cycles": "sm__cycles_active.avg",
    # Launch Statistics
    "Grid Size": "launch__grid_size",
    "Block Size": "launch__block_size",
    "Registers Per Thread": "launch__registers_per_thread",
    "Static Shared Memory Per Block": "launch__shared_mem_per_block_static",
    "Dynamic Shared Memory Per Block": "launch__shared_mem_per_block_dynamic",
    "Waves Per SM": "launch__waves_per_multiprocessor",
    "Uses Green Context": "launch__uses_green_context",
    "# SMs": "launch__sm_count",
    # Occupancy
    "Theoretical Occupancy": "sm__maximum_warps_per_active_cycle_pct",
    "Achieved Occupancy": f"sm__warps_active{_ACTIVE}",
    "Block Limit SM": "launch__occupancy_limit_blocks",
    "Block Limit Warps": "launch__occupancy_limit_warps",
    "Block Limit Registers": "launch__occupancy_limit_registers",
    "Block Limit Shared Mem": "launch__occupancy_limit_shared_mem",
    "Block Limit Barriers": "launch__occupancy_limit_barriers",
    # Scheduler Statistics
    "Active Warps Per Scheduler": "smsp__warps_active.avg.per_cycle_active",
    "Eligible Warps Per Scheduler": "smsp__warps_eligible.avg.per_cycle_active",
    "Issued Warp Per Scheduler": "smsp__issue_active.avg.per_cycle_active",
    "One or More Eligible": f"smsp__issue_active{_ACTIVE}",
    # Warp State Statistics
    "Warp Cycles Per Issued Instruction": "smsp__average_warp_latency_per_inst_issued.ratio",
    "Avg. Active Threads Per Warp": "smsp__thread_inst_executed_per_inst_executed.ratio",
    "Avg. Not Predicated Off Threads Per Warp": (
        "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"
    ),
    "Selected": _STALL.format("selected"),
    # Memory Workload Analysis
    "L1/TEX Hit Rate": "l1tex__t_sector_hit_rate.pct",
    "L2 Hit Rate": "lts__t_sector_hit_rate.pct",
    # Source Counters
    "Avg. Divergent Branches": "smsp__sass_branch_targets_threads_divergent.avg",
    # GPU and Memory Workload Distribution
    "Average SM Active Cycles": "sm__cycles_active.avg",
    "Total SM Elapsed Cycles": "sm__cycles_elapsed.sum",
}


def metric_name(label: str, unit: str) -> str:
    """Return the metric that a label stands for; the label itself where that is not known.

    ``unit`` is the value's base unit.
    """
    if unit.endswith("/s") and label in _PER_SECOND:
        return _PER_SECOND[label]
    if label.startswith("Stall "):
        return _STALL.format(label.removeprefix("Stall ").lower().replace(" ", "_"))
    return _LABELS.get(label, label)
