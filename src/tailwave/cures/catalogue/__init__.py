"""What can be tried on a program whose source stays as it is: one file each, all in ``CURES``.

To add one: a file that fits ``base.Cure``, with a docstring under the five headings, a line
here, a test file. Of two that can bring as much, the one that stands first here is tried first.
"""

from __future__ import annotations

from tailwave.cures.catalogue import (
    allocator,
    async_copy,
    cuda_graph,
    env,
    fused_optimizer,
    host_threads,
    host_wait,
    launch_blocking_off,
    max_connections,
    module_loading,
    mps_share,
    partition,
    prefetch,
    sm_carveout,
    stream_priority,
    torch_compile,
)
from tailwave.cures.catalogue.base import Cure

CURES: tuple[Cure, ...] = (
    launch_blocking_off,
    cuda_graph,
    torch_compile,
    fused_optimizer,
    prefetch,
    async_copy,
    partition,
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
