"""The headline figures of all probes in words.

``RESOLUTION`` is what repeated checks of one healthy GPU agree within, relative: a check stops
sampling at a spread well below it, and what is smaller is no difference between two checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tailwave.gpu.probes import PROBES
from tailwave.gpu.probes.parts import Better, Headline

RESOLUTION: Final = 0.03
# No headline: how fast the host is by itself, which tells a slow host from a slow launch.
HOST_SPEED: Final = "launch.host_loop"
HEADLINES: Final = {name: words for probe in PROBES for name, words in probe.headlines.items()}


def headline(name: str) -> Headline:
    """Return a figure's words; one that a newer tailwave measured keeps its bare name."""
    return HEADLINES.get(name) or Headline(name, Better.NEITHER, "something this version lacks")


def named(name: str, parameters: Mapping[str, object]) -> str:
    """Name a figure in words, with the parameters that tell it from others of its name."""
    at = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in parameters.items())
    return f"{headline(name).phrase} ({at})" if at else headline(name).phrase
