"""Verdicts: one file a link of the scheduling chain, all of them in ``VERDICTS``.

A link says which ``PROBES`` it looks at, holds their figures against bounds that are true on any
GPU (``criteria``; its docstring says where each bound comes from), and words its key figures
(``claim``) and what they mean for work on the GPU (``meaning``).
"""

from __future__ import annotations

from types import ModuleType

from tailwave.gpu.verdicts import copy, dispatch, fabric, isolation, issue, l2, launch

# In the order of the chain: from the host to the SMs, through the fabric to memory, and beside
# others.
VERDICTS: tuple[ModuleType, ...] = (launch, dispatch, issue, fabric, l2, copy, isolation)
