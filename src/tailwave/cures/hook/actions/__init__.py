"""The actions that a plan may ask for, by name."""

from __future__ import annotations

from collections.abc import Mapping

from tailwave.cures.hook.actions.async_copy import AsyncCopy
from tailwave.cures.hook.actions.base import Action
from tailwave.cures.hook.actions.compile import Compile
from tailwave.cures.hook.actions.cuda_graph import CudaGraph
from tailwave.cures.hook.actions.fused_optimizer import FusedOptimizer
from tailwave.cures.hook.actions.host_wait import HostWait
from tailwave.cures.hook.actions.partition import Partition
from tailwave.cures.hook.actions.prefetch import Prefetch
from tailwave.cures.hook.actions.sm_carveout import SmCarveout
from tailwave.cures.hook.actions.stream_priority import StreamPriority

ACTIONS: Mapping[str, type[Action]] = {
    "compile": Compile,
    "cuda-graph": CudaGraph,
    "fused-optimizer": FusedOptimizer,
    "host-wait": HostWait,
    "prefetch": Prefetch,
    "async-copy": AsyncCopy,
    "sm-carveout": SmCarveout,
    "partition": Partition,
    "stream-priority": StreamPriority,
}
