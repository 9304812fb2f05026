"""Captures a function that launches on a cuda-core stream, with cuda-core's graph builder."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from types import ModuleType

from tailwave.cures.library.capture.captor import WARM_UPS, Foreign
from tailwave.cures.library.capture.refusals import at, line_of
from tailwave.cures.library.capture.survey import roots_of, survey
from tailwave.cures.library.capture.tree import token
from tailwave.errors import GraphRefusedError

_COMPARED = 2  # calls, in the second of which state shows that a replay did not carry on


class CoreCaptor:
    """Makes the graph of one function of a stream."""

    def __init__(
        self, core: ModuleType, function: Callable[..., object], state: tuple[object, ...]
    ) -> None:
        """Note what to capture."""
        self._core, self._function = core, function
        self._roots = roots_of(function, state)

    def describe(self, leaf: object) -> tuple[object, ...]:
        """Return what an argument adds to a key: nothing for a stream, for any will do."""
        return ("stream",) if isinstance(leaf, self._core.Stream) else token(leaf)

    def mode(self) -> dict[str, object]:
        """Return what else the key is made of: nothing."""
        return {}

    def is_capturing(self) -> bool:
        """Tell whether a launch would be captured: the caller's stream says so by failing."""
        return False

    def capture(self, args: tuple[object, ...], kwargs: dict[str, object]) -> CoreBucket:
        """Capture a call; raises GraphRefusedError, or what the function itself raises."""
        stream: Foreign = args[0]
        rest = args[1:]
        found = survey(self._roots, lambda item: isinstance(item, self._core.Buffer))
        state = _Buffers(self._core, found.arrays, stream)

        def call(target: Foreign) -> None:
            self._function(target, *rest, **kwargs)

        try:
            for _ in range(WARM_UPS):
                call(stream)
            stream.sync()
            bucket = CoreBucket(_recorded(stream, call))
            bucket.agreement = self._compared(call, bucket, state, stream)
        finally:
            state.back()
        return bucket

    def _compared(
        self, call: Callable[[Foreign], None], bucket: CoreBucket, state: _Buffers, stream: Foreign
    ) -> str:
        """Compare the buffers after plain calls and after replays, from equal state."""
        if not state.found:
            return "not compared: the function reaches no cuda.core.Buffer; name them with state="
        ends = []
        for run in (call, lambda target: bucket.run([target])):
            state.back()
            for _ in range(_COMPARED):
                run(stream)
            ends.append(state.values())
        for label, plain in ends[0].items():
            if plain != ends[1][label]:
                raise GraphRefusedError(
                    f"{label} is not the same after a replay as after a plain call: something the "
                    "launches depend on changes in Python; keep it in a buffer of the GPU"
                )
        return "bitwise"

    def close(self) -> None:
        """Free nothing: a graph keeps no memory but its own."""


@dataclass
class CoreBucket:
    """A captured call."""

    graph: Foreign
    agreement: str = ""

    def why_not(self) -> str:
        """Return why this call cannot be replayed: nothing can change here."""
        return ""

    def run(self, leaves: list[object]) -> None:
        """Launch the graph on a stream."""
        self.graph.launch(leaves[0])

    def close(self) -> None:
        """Free the graph."""
        self.graph.close()


class _Buffers:
    """The buffers that the function can reach, and their bytes from before."""

    def __init__(self, core: ModuleType, found: dict[str, object], stream: Foreign) -> None:
        """Copy them."""
        self.found: dict[str, Foreign] = found
        self._core, self._stream = core, stream
        self._saved = {label: self._pinned(buffer) for label, buffer in self.found.items()}

    def back(self) -> None:
        """Put the bytes from before back."""
        for label, buffer in self.found.items():
            buffer.copy_from(self._saved[label], stream=self._stream)
        self._stream.sync()

    def values(self) -> dict[str, bytes]:
        """Return the bytes as they are."""
        copies = {label: self._pinned(buffer) for label, buffer in self.found.items()}
        return {label: ctypes.string_at(int(c.handle), c.size) for label, c in copies.items()}

    def _pinned(self, buffer: Foreign) -> Foreign:
        """Return a copy in pinned host memory."""
        copy = self._core.LegacyPinnedMemoryResource().allocate(buffer.size)
        buffer.copy_to(copy, stream=self._stream)
        self._stream.sync()
        return copy


def _recorded(stream: Foreign, call: Callable[[Foreign], None]) -> Foreign:
    """Capture a call and make the graph ready; raises GraphRefusedError."""
    try:
        with closing(stream.create_graph_builder()) as builder:
            builder.begin_building()
            call(builder.stream)
            graph = builder.end_building().complete()
        graph.upload(stream)
        stream.sync()
    except Exception as error:
        raise GraphRefusedError(
            f"the function does{at(line_of(error))} what no capture allows "
            f"({type(error).__name__}: {error}); launch on the stream that it is given, and wait "
            "or take memory outside of it"
        ) from error
    return graph
