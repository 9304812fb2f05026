"""How a request for groups of SMs is rounded."""

from __future__ import annotations

from collections.abc import Sequence

from tailwave.gpu.devices.base import NotSupportedError
from tailwave.gpu.devices.sim.chip import Partition


def group_sizes(rules: Partition, sm_count: int, asked: Sequence[int]) -> list[int]:
    """Round each group up, and add a last one with the SMs that remain, if any.

    Raises NotSupportedError when the rounded groups need more SMs than there are.
    """
    sizes = [max(rules.least, -(-count // rules.alignment) * rules.alignment) for count in asked]
    rest = sm_count - sum(sizes)
    if rest < 0:
        raise NotSupportedError(
            f"Groups of {', '.join(map(str, sizes))} SMs, as rounded, need more than {sm_count}."
        )
    return [*sizes, rest] if rest else sizes
