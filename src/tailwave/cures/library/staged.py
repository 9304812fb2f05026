"""Copies a loader's batches to the GPU ahead of use, through pinned memory, on a side stream."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import cycle
from typing import Any, Final, NamedTuple

from tailwave.cures.library import frameworks
from tailwave.cures.library.batches import mapped
from tailwave.cures.library.lanes import CupyLane, Lane, TorchLane
from tailwave.errors import UsageError

_NOTHING: Final = object()


class _OnItsWay(NamedTuple):
    """A batch whose copies were started, in a slot of each lane."""

    batch: Any
    slot: int


def staged(loader: Iterable[Any], ahead: int = 2) -> Iterator[Any]:
    """Yield a loader's batches with their host tensors on the current GPU, copied ahead of use.

    Tensors of torch and, with CuPy imported, arrays of numpy inside nested tuples, lists and
    dictionaries are copied; all else is passed on as it is. Up to ``ahead`` batches more than the
    one in use are asked of the loader, in its order. An error of the loader is raised when the
    batches before it have been used.

    Raises UsageError when ``ahead`` is no number above 0, and when the program has imported neither
    torch nor CuPy with a GPU.
    """
    if isinstance(ahead, bool) or not isinstance(ahead, int) or ahead < 1:
        raise UsageError(f"The number of batches to stage ahead is 1 or more, not {ahead!r}.")
    slots = ahead + 1
    used, arrays = frameworks.torch(), frameworks.cupy()
    lanes: list[Lane] = []
    if used is not None:
        lanes.append(TorchLane(used, slots))
    if arrays is not None:
        lanes.append(CupyLane(arrays, slots))
    if not lanes:
        raise UsageError(
            "Neither torch nor CuPy with a GPU is imported: import one of them first, and see that "
            "it finds the GPU."
        )
    return _staged(iter(loader), lanes, slots)


def _staged(source: Iterator[Any], lanes: Sequence[Lane], slots: int) -> Iterator[Any]:
    coming, free = deque[_OnItsWay](), cycle(range(slots))
    batches = _Source(source)
    with ExitStack() as stack:
        for lane in lanes:
            stack.callback(lane.close)
        while True:
            while len(coming) < slots and (batch := batches.next()) is not _NOTHING:
                coming.append(_sent(batch, lanes, next(free)))
            if not coming:
                break
            yield _handed_over(coming.popleft(), lanes)
    if batches.failure is not None:
        raise batches.failure


class _Source:
    """A loader's batches until they end; how they ended is told later."""

    def __init__(self, source: Iterator[Any]) -> None:
        """Take an iterator."""
        self._source: Iterator[Any] | None = source
        self.failure: Exception | None = None

    def next(self) -> Any:  # noqa: ANN401
        """Return the next batch, _NOTHING after the last."""
        if self._source is None:
            return _NOTHING
        try:
            batch = next(self._source, _NOTHING)
        except Exception as error:  # noqa: BLE001  raised when its turn has come
            self.failure, batch = error, _NOTHING
        if batch is _NOTHING:
            self._source = None
        return batch


def _sent(batch: Any, lanes: Sequence[Lane], slot: int) -> _OnItsWay:  # noqa: ANN401
    """Start a batch on its way."""
    for lane in lanes:
        lane.begin(slot)

    def send(leaf: Any) -> Any:  # noqa: ANN401
        lane = next((lane for lane in lanes if lane.takes(leaf)), None)
        return leaf if lane is None else lane.send(leaf)

    sent = mapped(batch, send)
    for lane in lanes:
        lane.end(slot)
    return _OnItsWay(sent, slot)


def _handed_over(coming: _OnItsWay, lanes: Sequence[Lane]) -> Any:  # noqa: ANN401
    """Return a batch that the consumer's stream has been told to wait for."""
    for lane in lanes:
        lane.hand_over(coming.slot)
    return coming.batch
