"""Streams by name: a program names its streams, and a cure gives them SMs or priority."""

from __future__ import annotations

from collections.abc import Mapping
from threading import RLock
from types import ModuleType
from typing import Any, Final, NamedTuple

from tailwave.cures.library import frameworks
from tailwave.cures.library.partition import SmGroup, partition
from tailwave.cures.library.priority import priority as stream_of_priority
from tailwave.cures.library.work_stream import WorkStream
from tailwave.errors import TailwaveError, UsageError


class Grant(NamedTuple):
    """What a named stream has got.

    ``sms`` is how many SMs its work may use (None: all of the GPU), ``own`` whether no other named
    stream uses them, ``priority`` CUDA's number. ``why_not`` says why it does not have what was
    assigned ("" if it has).
    """

    sms: int | None
    own: bool
    priority: int
    why_not: str


class _Wish(NamedTuple):
    """What a name is to have."""

    sms: int | None = None
    priority: str | None = None


class _Groups(NamedTuple):
    """One split: the groups of the names that have SMs of their own, and that of all others."""

    own: Mapping[str, SmGroup]
    rest: SmGroup


class Names:
    """The named streams of one process, which last as long as it does."""

    def __init__(self) -> None:
        """Have no stream, and no plan."""
        self._lock = RLock()
        self._wishes: dict[str, _Wish] = {}
        self._streams: dict[tuple[str, int], Any] = {}
        self._groups: dict[int, _Groups] = {}
        self.given: dict[str, Grant] = {}

    def assign(self, name: str, wish: _Wish) -> None:
        """Plan what a name is to have, beside what it was assigned before."""
        with self._lock:
            if self._streams:
                raise UsageError(
                    f"Assign before the first stream is made: {sorted(self.given)} are there."
                )
            before = self._wishes.get(name, _Wish())
            self._wishes[name] = _Wish(wish.sms or before.sms, wish.priority or before.priority)

    def stream(self, torch: ModuleType, name: str) -> Any:  # noqa: ANN401  torch's
        """Return the stream of a name on torch's current GPU; a new one for a new name."""
        number = int(torch.cuda.current_device())
        with self._lock:
            if (name, number) not in self._streams:
                self._streams[name, number] = self._made(torch, name, number)
            return self._streams[name, number]

    def group(self, name: str) -> SmGroup | None:
        """Return the SMs that a name has for itself, on the first GPU where it has any."""
        with self._lock:
            found = (groups.own[name] for groups in self._groups.values() if name in groups.own)
            return next(found, None)

    def _made(self, torch: ModuleType, name: str, number: int) -> Any:  # noqa: ANN401
        """Make a stream. A plan that cannot be had leaves the program a plain one."""
        work, sms, why_not = None, None, ""
        try:
            work, sms = self._planned(name, number)
        except TailwaveError as error:
            why_not = str(error)
        stream = torch.cuda.Stream() if work is None else work.torch()
        own = sms is not None and self._wishes.get(name, _Wish()).sms is not None
        self.given[name] = Grant(sms, own, int(stream.priority), why_not)
        return stream

    def _planned(self, name: str, number: int) -> tuple[WorkStream | None, int | None]:
        """Return the stream that the plan has for a name, if it has one, and its number of SMs."""
        level = self._wishes.get(name, _Wish()).priority
        groups = self._split(number)
        if groups is not None:
            group = groups.own.get(name, groups.rest)
            return group.another_stream(level), group.sm_count
        return (stream_of_priority(level) if level else None), None

    def _split(self, number: int) -> _Groups | None:
        """Split a GPU as planned, once; None where no name is to have SMs."""
        wished = {name: wish.sms for name, wish in self._wishes.items() if wish.sms}
        if wished and number not in self._groups:
            *groups, rest = partition([*wished.values(), "rest"])
            self._groups[number] = _Groups(dict(zip(wished, groups, strict=True)), rest)
        return self._groups.get(number)


_NAMES: Final = Names()


def stream(name: str) -> Any:  # noqa: ANN401  torch need not be installed
    """Return the ``torch.cuda.Stream`` of a name on the current GPU, made when first asked for.

    By itself it is a stream like any other. Under ``tailwave try`` and ``tailwave fix`` it may have
    SMs of its own or a priority; then all other named streams share the SMs that are left.
    Raises UsageError where torch is not imported or has no GPU.
    """
    torch = frameworks.torch()
    if torch is None:
        raise UsageError(
            "A named stream is one of torch, on a GPU: import torch first, and see that "
            "`torch.cuda.is_available()`."
        )
    return _NAMES.stream(torch, name)


def assign(name: str, *, sms: int | None = None, priority: str | None = None) -> None:
    """Plan SMs or a priority ("high" or "low") for a name, before the program asks for any stream.

    Where that turns out not to be possible the stream is a plain one, and `given` says why. Raises
    UsageError once there is a stream.
    """
    _NAMES.assign(name, _Wish(sms, priority))


def given() -> Mapping[str, Grant]:
    """Return what each named stream has got so far."""
    return dict(_NAMES.given)


def prove(name: str) -> frozenset[int]:
    """Return the ids of the SMs that a name has for itself, as `SmGroup.prove` finds them.

    Empty where it has none. Waits for all work of the GPU.
    """
    group = _NAMES.group(name)
    return group.prove() if group is not None else frozenset()
