"""What a probe consists of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import msgspec

from tailwave.gpu.probes.lab import Lab
from tailwave.model import Measurement, Table

Results: TypeAlias = Iterator[Measurement | Table]


class Part(msgspec.Struct, frozen=True):
    """A piece of a probe that fails alone: the figures and tables it gives, and how."""

    names: tuple[str, ...]
    run: Callable[[Lab], Results]


class Probe(msgspec.Struct, frozen=True):
    """One question to a device; the parts run in order."""

    name: str
    parts: tuple[Part, ...]
