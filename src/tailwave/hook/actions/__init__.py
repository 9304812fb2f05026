"""The actions that a plan may ask for, by name."""

from __future__ import annotations

from collections.abc import Mapping

from tailwave.hook.actions.base import Action
from tailwave.hook.actions.compile import Compile
from tailwave.hook.actions.cuda_graph import CudaGraph
from tailwave.hook.actions.fused_optimizer import FusedOptimizer
from tailwave.hook.actions.host_wait import HostWait
from tailwave.hook.actions.loader_workers import LoaderWorkers
from tailwave.hook.actions.pinned_copies import PinnedCopies
from tailwave.hook.actions.sm_carveout import SmCarveout
from tailwave.hook.actions.sm_partition import SmPartition
from tailwave.hook.actions.stream_priority import StreamPriority

ACTIONS: Mapping[str, type[Action]] = {
    "compile": Compile,
    "cuda-graph": CudaGraph,
    "fused-optimizer": FusedOptimizer,
    "host-wait": HostWait,
    "loader-workers": LoaderWorkers,
    "pinned-copies": PinnedCopies,
    "sm-carveout": SmCarveout,
    "sm-partition": SmPartition,
    "stream-priority": StreamPriority,
}
