"""How fast are copies to and from the host, pinned and pageable?

Published: PCIe 5.0 with 16 lanes carries 63 GB/s each way, before its protocol.

Bounds on any GPU:

- Pageable memory is copied through a pinned buffer of the driver's, so pinned memory is at least as
  fast. Where it is not, pinning brings nothing (WARNING).
- A link carries both ways at once: at least as much as the better way alone, or copies in both
  directions hold each other up (WARNING).
- The link runs, under load, as wide and as fast as both ends of it could: each halving halves every
  copy (WARNING). It narrows copies and nothing else.
"""

from __future__ import annotations

from msgspec.structs import replace

from tailwave.gpu.verdicts.criteria import quotient, within
from tailwave.gpu.verdicts.measurements import Measurements, amount, amounts, listed, sentences
from tailwave.model import Criterion, Health, Measurement

LINK = "copy"
PROBES = ("copy", "managed")
_WAYS = {"h2d": "to the GPU", "d2h": "from the GPU"}
_GIB = (1 << 30) / 1e9  # GB


def criteria(figures: Measurements) -> tuple[Criterion, ...]:
    """Hold pinned against pageable, both ways against one, the link against its ends."""
    return (
        *(_pinned(figures, way) for way in _WAYS),
        *(_both(figures, way) for way in _WAYS),
        _link(figures, "width"),
        _link(figures, "generation"),
    )


def _pinned(figures: Measurements, way: str) -> Criterion:
    return quotient(
        f"pinned against pageable memory, {_WAYS[way]}",
        figures.get(f"copy.{way}_pinned"),
        figures.get(f"copy.{way}_pageable"),
        least=1.0,
        breach=Health.WARNING,
    )


def _both(figures: Measurements, way: str) -> Criterion:
    return quotient(
        f"both ways at once against {_WAYS[way]} alone",
        figures.get("copy.both_pinned"),
        figures.get(f"copy.{way}_pinned"),
        least=1.0,
        breach=Health.WARNING,
    )


def _link(figures: Measurements, what: str) -> Criterion:
    state = figures.get(f"copy.link_{what}")
    most = float(state.parameters.get("most", 0))
    return within(
        f"the link's {what} under load, of what both ends could do",
        state,
        least=most or None,
        breach=Health.WARNING,
    )


def claim(figures: Measurements) -> str:
    """Word the bandwidths."""
    return listed(
        ("to the GPU", figures.get("copy.h2d_pinned")),
        ("from it", figures.get("copy.d2h_pinned")),
        ("pageable", figures.get("copy.h2d_pageable")),
    )


def meaning(figures: Measurements) -> str:
    """Say how long a copy takes."""
    pinned, pageable = figures.get("copy.h2d_pinned"), figures.get("copy.h2d_pageable")
    small = figures.get("copy.small")
    one, other = amounts(_gib(pinned), _gib(pageable))
    gib = f"A GiB to the GPU takes {one} from pinned memory and {other} from pageable."
    return sentences(
        (gib, (pinned, pageable)),
        (f"A copy of a few bytes takes {amount(small)}.", (small,)),
    )


def _gib(rate: Measurement) -> Measurement:
    """Return the time of a GiB at a rate in GB/s."""
    return replace(rate, value=_GIB / rate.value if rate.value else None, unit="s")
