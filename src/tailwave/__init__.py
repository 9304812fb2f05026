"""tailwave says why a GPU waits, and what curing the cause is worth.

The public names are imported when first used, so that `import tailwave` itself costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailwave.api import compare, diagnose, read, show, whatif
    from tailwave.cures.library.graph import graph
    from tailwave.cures.library.host_wait import host_wait
    from tailwave.cures.library.l2_window import l2_window
    from tailwave.cures.library.managed import managed
    from tailwave.cures.library.marks import output, step
    from tailwave.cures.library.named import stream
    from tailwave.cures.library.partition import partition
    from tailwave.cures.library.priority import priority
    from tailwave.cures.library.profile import profile
    from tailwave.cures.library.staged import staged
    from tailwave.errors import TailwaveError
    from tailwave.explanations import explain
    from tailwave.gpu.check import check
    from tailwave.model import (
        Comparison,
        Diagnosis,
        Finding,
        Predictions,
        Recording,
        Session,
        Timeline,
    )

__all__ = [
    "Comparison",
    "Diagnosis",
    "Finding",
    "Predictions",
    "Recording",
    "Session",
    "TailwaveError",
    "Timeline",
    "__version__",
    "check",
    "compare",
    "diagnose",
    "explain",
    "graph",
    "host_wait",
    "l2_window",
    "managed",
    "output",
    "partition",
    "priority",
    "profile",
    "read",
    "show",
    "staged",
    "step",
    "stream",
    "whatif",
]

__version__ = "0.1.0"

_HOMES = {
    **dict.fromkeys(("compare", "diagnose", "read", "show", "whatif"), "tailwave.api"),
    **dict.fromkeys(
        (
            "Comparison",
            "Diagnosis",
            "Explanation",
            "Finding",
            "Predictions",
            "Recording",
            "Session",
            "Timeline",
        ),
        "tailwave.model",
    ),
    "TailwaveError": "tailwave.errors",
    "explain": "tailwave.explanations",
    "check": "tailwave.gpu.check",
    "graph": "tailwave.cures.library.graph",
    "host_wait": "tailwave.cures.library.host_wait",
    "l2_window": "tailwave.cures.library.l2_window",
    "managed": "tailwave.cures.library.managed",
    "output": "tailwave.cures.library.marks",
    "partition": "tailwave.cures.library.partition",
    "priority": "tailwave.cures.library.priority",
    "profile": "tailwave.cures.library.profile",
    "staged": "tailwave.cures.library.staged",
    "step": "tailwave.cures.library.marks",
    "stream": "tailwave.cures.library.named",
}


def __getattr__(name: str) -> object:
    """Import a public name from its home (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted([*globals(), *_HOMES])
