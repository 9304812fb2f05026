"""tailwave says why a GPU waits, and what curing the cause is worth.

The public names are imported when first used, so that `import tailwave` itself costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailwave.model import Diagnosis, Finding, Timeline
    from tailwave.readers import read
    from tailwave.rules.diagnose import diagnose

__all__ = ["Diagnosis", "Finding", "Timeline", "__version__", "diagnose", "read"]

__version__ = "0.1.0"

_HOMES = {
    "Diagnosis": "tailwave.model",
    "Finding": "tailwave.model",
    "Timeline": "tailwave.model",
    "diagnose": "tailwave.rules.diagnose",
    "read": "tailwave.readers",
}


def __getattr__(name: str) -> object:
    """Import a public name from its home (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted([*globals(), *_HOMES])
