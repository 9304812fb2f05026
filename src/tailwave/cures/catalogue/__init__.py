"""The cures that a report can name, by name (``BY_NAME``): those to try, and those for the reader.

``CURES`` can be tried on a program whose source stays as it is, each one a file that fits
``base.Cure``, or a row of ``variables``. Of two that can bring as much, the one that stands first
here is tried first. What needs the program's source is a row of ``advice.ADVICE``.
"""

from __future__ import annotations

from collections.abc import Mapping

from tailwave.cures.catalogue.advice import ADVICE
from tailwave.cures.catalogue.allocator import AllocatorCure
from tailwave.cures.catalogue.async_copy import AsyncCopyCure
from tailwave.cures.catalogue.base import Cure, Entry
from tailwave.cures.catalogue.cuda_graph import CudaGraphCure
from tailwave.cures.catalogue.env import EnvCure
from tailwave.cures.catalogue.fused_optimizer import FusedOptimizerCure
from tailwave.cures.catalogue.host_wait import HostWaitCure
from tailwave.cures.catalogue.mps_share import MpsShareCure
from tailwave.cures.catalogue.partition import PartitionCure
from tailwave.cures.catalogue.prefetch import PrefetchCure
from tailwave.cures.catalogue.sm_carveout import SmCarveoutCure
from tailwave.cures.catalogue.stream_priority import StreamPriorityCure
from tailwave.cures.catalogue.torch_compile import CompileCure
from tailwave.cures.catalogue.variables import (
    HOST_THREADS,
    LAUNCH_BLOCKING_OFF,
    MAX_CONNECTIONS,
    MODULE_LOADING,
)

CURES: tuple[Cure, ...] = (
    LAUNCH_BLOCKING_OFF,
    CudaGraphCure(),
    CompileCure(),
    FusedOptimizerCure(),
    PrefetchCure(),
    AsyncCopyCure(),
    PartitionCure(),
    AllocatorCure(),
    HOST_THREADS,
    HostWaitCure(),
    MAX_CONNECTIONS,
    MODULE_LOADING,
    StreamPriorityCure(),
    MpsShareCure(),
    SmCarveoutCure(),
    EnvCure(),
)

BY_NAME: Mapping[str, Entry] = {
    entry.name: entry for entry in (*(cure.entry for cure in CURES), *ADVICE)
}
