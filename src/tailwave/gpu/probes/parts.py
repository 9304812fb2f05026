"""What a probe consists of: parts that fail alone, and its headline figures in words."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import msgspec

from tailwave.gpu.probes.lab import Lab
from tailwave.model import Measurement, Table

Results: TypeAlias = Iterator[Measurement | Table]


class Part(msgspec.Struct, frozen=True):
    """A piece of a probe that fails alone: the figures and tables it gives, and how."""

    names: tuple[str, ...]
    run: Callable[[Lab], Results]


class Better(enum.Enum):
    """Which way a figure is better."""

    LESS = "less"
    MORE = "more"
    NEITHER = "neither"  # it tells GPUs apart, and no value of it is a fault


class Headline(NamedTuple):
    """A figure in words: ``phrase`` names it, ``decides`` ends the sentence "It decides ...".

    ``host``: the host's processor has its part in it. Such a figure scatters with what else the
    host does, and is slower on a slower host.
    """

    phrase: str
    better: Better
    decides: str
    host: bool = False


class Probe(msgspec.Struct, frozen=True):
    """One question to a device; the parts run in order.

    ``headlines`` are the figures that verdicts and comparisons look at, each in words.
    """

    name: str
    parts: tuple[Part, ...]
    headlines: Mapping[str, Headline] = MappingProxyType({})
