"""The metrics behind the labels of ncu's details page, which does not write their names.

From the sections of ncu 2025.3 and of the older versions that its users still export with. Where
one label stands for two metrics, the unit tells them apart. Labels whose metric is another in each
version ("SM Busy", "Issue Slots Busy") are left as they are.
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
    "Memory Frequency": "dram__cycles_elapsed.avg.per_second",
    "Memory Throughput": f"gpu__compute_memory_throughput{_ELAPSED}",
    "Memory [%]": f"gpu__compute_memory_throughput{_ELAPSED}",
    "DRAM Throughput": f"gpu__dram_throughput{_ELAPSED}",
    "L1/TEX Cache Throughput": f"l1tex__throughput{_ACTIVE}",
    "L2 Cache Throughput": f"lts__throughput{_ELAPSED}",
    "Duration": "gpu__time_duration.sum",
    "Elapsed Cycles": "gpc__cycles_elapsed.max",
    "SM Active Cycles": "sm__cycles_active.avg",
    "SM Frequency": "gpc__cycles_elapsed.avg.per_second",
    "DRAM Frequency": "dram__cycles_elapsed.avg.per_second",
    # Launch Statistics
    "Grid Size": "launch__grid_size",
    "Block Size": "launch__block_size",
    "Cluster Size": "launch__cluster_size",
    "Threads": "launch__thread_count",
    "Registers Per Thread": "launch__registers_per_thread",
    "Static Shared Memory Per Block": "launch__shared_mem_per_block_static",
    "Dynamic Shared Memory Per Block": "launch__shared_mem_per_block_dynamic",
    "Driver Shared Memory Per Block": "launch__shared_mem_per_block_driver",
    "Shared Memory Configuration Size": "launch__shared_mem_config_size",
    "Waves Per SM": "launch__waves_per_multiprocessor",
    "Uses Green Context": "launch__uses_green_context",
    "Function Cache Configuration": "launch__func_cache_config",
    "# SMs": "launch__sm_count",
    "# TPCs": "launch__tpc_count",
    "Cluster Scheduling Policy": "launch__cluster_scheduling_policy",
    "Enabled TPC IDs": "launch__tpc_enabled",
    "Stack Size": "launch__stack_size",
    # Occupancy
    "Theoretical Occupancy": "sm__maximum_warps_per_active_cycle_pct",
    "Theoretical Active Warps per SM": "sm__maximum_warps_avg_per_active_cycle",
    "Achieved Occupancy": f"sm__warps_active{_ACTIVE}",
    "Achieved Active Warps Per SM": "sm__warps_active.avg.per_cycle_active",
    "Block Limit SM": "launch__occupancy_limit_blocks",
    "Block Limit Warps": "launch__occupancy_limit_warps",
    "Block Limit Registers": "launch__occupancy_limit_registers",
    "Block Limit Shared Mem": "launch__occupancy_limit_shared_mem",
    "Block Limit Barriers": "launch__occupancy_limit_barriers",
    "Max Active Clusters": "launch__cluster_max_active",
    "Max Cluster Size": "launch__cluster_max_potential_size",
    "Overall GPU Occupancy": "launch__occupancy_cluster_gpu_pct",
    "Cluster Occupancy": "launch__occupancy_cluster_pct",
    # Scheduler Statistics
    "Active Warps Per Scheduler": "smsp__warps_active.avg.per_cycle_active",
    "Eligible Warps Per Scheduler": "smsp__warps_eligible.avg.per_cycle_active",
    "Issued Warp Per Scheduler": "smsp__issue_active.avg.per_cycle_active",
    "No Eligible": f"smsp__issue_inst0{_ACTIVE}",
    "One or More Eligible": f"smsp__issue_active{_ACTIVE}",
    # Warp State Statistics
    "Warp Cycles Per Issued Instruction": "smsp__average_warp_latency_per_inst_issued.ratio",
    "Warp Cycles Per Executed Instruction": "smsp__average_warps_active_per_inst_executed.ratio",
    "Avg. Active Threads Per Warp": "smsp__thread_inst_executed_per_inst_executed.ratio",
    "Avg. Not Predicated Off Threads Per Warp": (
        "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"
    ),
    "Selected": _STALL.format("selected"),
    # Compute Workload Analysis and Instruction Statistics
    "Executed Ipc Active": "sm__inst_executed.avg.per_cycle_active",
    "Executed Ipc Elapsed": "sm__inst_executed.avg.per_cycle_elapsed",
    "Issued Ipc Active": "sm__inst_issued.avg.per_cycle_active",
    "Executed Instructions": "smsp__inst_executed.sum",
    "Issued Instructions": "smsp__inst_issued.sum",
    "Avg. Executed Instructions Per Scheduler": "smsp__inst_executed.avg",
    "Avg. Issued Instructions Per Scheduler": "smsp__inst_issued.avg",
    # Memory Workload Analysis
    "L1/TEX Hit Rate": "l1tex__t_sector_hit_rate.pct",
    "L2 Hit Rate": "lts__t_sector_hit_rate.pct",
    "Mem Busy": f"gpu__compute_memory_access_throughput{_ELAPSED}",
    "Max Bandwidth": f"gpu__compute_memory_request_throughput{_ELAPSED}",
    "Mem Pipes Busy": f"sm__memory_throughput{_ELAPSED}",
    "L2 Persisting Size": "launch__persisting_l2_cache_size",
    "L2 Compression Input Sectors": "lrc__ilc_input_sectors.sum",
    "Local Memory Spilling Requests": "derived__local_spilling_requests",
    "Local Memory Spilling Request Overhead": "derived__local_spilling_requests_pct",
    # Source Counters
    "Branch Instructions": "smsp__inst_executed_op_branch.sum",
    "Branch Efficiency": "smsp__sass_average_branch_targets_threads_uniform.pct",
    "Avg. Divergent Branches": "smsp__sass_branch_targets_threads_divergent.avg",
    # GPU and Memory Workload Distribution
    "Average SM Active Cycles": "sm__cycles_active.avg",
    "Average SMSP Active Cycles": "smsp__cycles_active.avg",
    "Average L1 Active Cycles": "l1tex__cycles_active.avg",
    "Average L2 Active Cycles": "lts__cycles_active.avg",
    "Average DRAM Active Cycles": "dram__cycles_active.avg",
    "Total SM Elapsed Cycles": "sm__cycles_elapsed.sum",
    "Total SMSP Elapsed Cycles": "smsp__cycles_elapsed.sum",
    "Total L1 Elapsed Cycles": "l1tex__cycles_elapsed.sum",
    "Total L2 Elapsed Cycles": "lts__cycles_elapsed.sum",
    "Total DRAM Elapsed Cycles": "dram__cycles_elapsed.sum",
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
