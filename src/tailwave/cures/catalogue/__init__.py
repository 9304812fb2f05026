"""What can be tried on a program whose source stays as it is: one file each, all in ``REMEDIES``.

To add one: a file that fits ``base.Remedy``, with a docstring under the five headings, a line
here, a test file. Of two that can bring as much, the one that stands first here is tried first.
"""

from __future__ import annotations

from tailwave.cures.catalogue import (
    allocator,
    cuda_graph,
    env,
    fused_optimizer,
    host_threads,
    host_wait,
    launch_blocking_off,
    loader_workers,
    max_connections,
    module_loading,
    mps_share,
    pinned_copies,
    sm_carveout,
    sm_partition,
    stream_priority,
    torch_compile,
)
from tailwave.cures.catalogue.base import Remedy

REMEDIES: tuple[Remedy, ...] = (
    launch_blocking_off,
    cuda_graph,
    torch_compile,
    fused_optimizer,
    loader_workers,
    pinned_copies,
    sm_partition,
    allocator,
    host_threads,
    host_wait,
    max_connections,
    module_loading,
    stream_priority,
    mps_share,
    sm_carveout,
    env,
)
