"""tailwave says why a GPU waits, and what curing the cause is worth.

The public names are imported when first used, so that `import tailwave` itself costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailwave.inprocess.graph import graph
    from tailwave.inprocess.host_wait import host_wait
    from tailwave.inprocess.l2_window import l2_window
    from tailwave.inprocess.managed import managed
    from tailwave.inprocess.marks import output, step
    from tailwave.inprocess.named import stream
    from tailwave.inprocess.partition import partition
    from tailwave.inprocess.priority import priority
    from tailwave.inprocess.staged import staged
    from tailwave.model import Diagnosis, Finding, Timeline
    from tailwave.readers import read
    from tailwave.rules.diagnose import diagnose

__all__ = [
    "Diagnosis",
    "Finding",
    "Timeline",
    "__version__",
    "diagnose",
    "graph",
    "host_wait",
    "l2_window",
    "managed",
    "output",
    "partition",
    "priority",
    "read",
    "staged",
    "step",
    "stream",
]

__version__ = "0.1.0"

_HOMES = {
    "Diagnosis": "tailwave.model",
    "Finding": "tailwave.model",
    "Timeline": "tailwave.model",
    "diagnose": "tailwave.rules.diagnose",
    "graph": "tailwave.inprocess.graph",
    "host_wait": "tailwave.inprocess.host_wait",
    "l2_window": "tailwave.inprocess.l2_window",
    "managed": "tailwave.inprocess.managed",
    "output": "tailwave.inprocess.marks",
    "partition": "tailwave.inprocess.partition",
    "priority": "tailwave.inprocess.priority",
    "read": "tailwave.readers",
    "staged": "tailwave.inprocess.staged",
    "step": "tailwave.inprocess.marks",
    "stream": "tailwave.inprocess.named",
}


def __getattr__(name: str) -> object:
    """Import a public name from its home (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted([*globals(), *_HOMES])
