"""Verdicts: one file a link of the scheduling chain, all of them in ``LINKS``."""

from __future__ import annotations

from tailwave.gpu.verdicts import copy, dispatch, fabric, isolation, issue, l2, launch
from tailwave.gpu.verdicts.link import Link

# In the order of the chain: from the host to the SMs, through the fabric to memory, and beside
# others.
LINKS: tuple[Link, ...] = (launch, dispatch, issue, fabric, l2, copy, isolation)
