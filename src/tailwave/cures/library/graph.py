"""``tailwave.graph``: a function as CUDA graphs, one for each kind of arguments it is called with.

A call replays the graph of its bucket; a call that fits no bucket runs the function plainly, and
gets a bucket of its own when it is seen the second time.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

from tailwave.cures import hami
from tailwave.cures.library.capture.captor import Bucket, Captor, Foreign
from tailwave.cures.library.capture.core import CoreCaptor
from tailwave.cures.library.capture.cupy import CupyCaptor
from tailwave.cures.library.capture.torch import TorchCaptor
from tailwave.cures.library.capture.tree import flatten
from tailwave.cures.library.closing import Closing
from tailwave.errors import GraphRefusedError, UsageError

# Kinds of arguments that are remembered as seen once; more are taken as new each time.
_REMEMBERED = 1024

_Key = tuple[object, ...]


class GraphedCallable(Closing):
    """A function that replays its graphs; made by `tailwave.graph`."""

    def __init__(
        self,
        function: Callable[..., object],
        captor: Captor,
        buckets: int,
        default: tuple[object, ...] = (),
    ) -> None:
        """Start without a graph."""
        self.replays = 0
        self.plain_calls = 0
        self.why_plain = ""
        self._function, self._captor, self._most, self._default = function, captor, buckets, default
        self._buckets: dict[_Key, Bucket] = {}
        self._refused: dict[_Key, str] = {}
        self._seen: dict[_Key, None] = {}
        self._lock = threading.RLock()
        self._closed = False

    @property
    def graphs(self) -> list[Bucket]:
        """Return the buckets that have a graph."""
        return list(self._buckets.values())

    @property
    def agreement(self) -> str:
        """Return how replays agreed with plain calls: "bitwise", or the first bucket's words."""
        words = [bucket.agreement for bucket in self._buckets.values()]
        return next((word for word in words if word != "bitwise"), "bitwise" if words else "")

    def __call__(self, *args: object, **kwargs: object) -> Foreign:
        """Replay the graph that fits, or call the function plainly."""
        given = args or self._default
        with self._lock:
            key, leaves = self._key(given, kwargs)
            bucket, why = self._find(key, given, kwargs)
            why = why or (bucket.why_not() if bucket else "")
            if bucket is not None and not why:
                self.replays += 1
                return bucket.run(leaves)
            self.plain_calls += 1
            self.why_plain = why
        return self._function(*given, **kwargs)

    def add(self, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        """Capture a graph for these arguments; raises GraphRefusedError."""
        given = args or self._default
        with self._lock:
            key, _ = self._key(given, kwargs)
            self._buckets[key] = self._captor.capture(given, kwargs)

    def close(self) -> None:
        """Free the graphs and their memory; later calls are plain."""
        with self._lock:
            self._closed = True
            for bucket in self._buckets.values():
                bucket.close()
            self._buckets.clear()
            self._captor.close()

    def _key(
        self, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[_Key, list[object]]:
        """Return what tells a call's bucket (form, leaves, the program's modes), and its leaves."""
        leaves, form = flatten((args, kwargs))
        described = tuple([self._captor.describe(leaf) for leaf in leaves])
        return (form, described, tuple(self._captor.mode().values())), leaves

    def _find(
        self, key: _Key, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[Bucket | None, str]:
        """Return the bucket for a key, captured now if it is time to; else why there is none."""
        if self._closed or self._captor.is_capturing():
            why = "the graphs are closed"
            return None, why if self._closed else "the current stream is itself being captured"
        if key in self._buckets or key in self._refused:
            return self._buckets.get(key), self._refused.get(key, "")
        if len(self._buckets) >= self._most:
            return None, (
                f"{self._news(key)}, and all {self._most} buckets are in use; pad the inputs to "
                "fewer shapes, or ask for more with buckets="
            )
        if key not in self._seen:
            if len(self._seen) < _REMEMBERED:
                self._seen[key] = None
            return None, f"{self._news(key)}; the second such call gets a graph of its own"
        return self._tried(key, args, kwargs)

    def _tried(
        self, key: _Key, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[Bucket | None, str]:
        """Capture in mid-run: whatever goes wrong, the call goes on plainly."""
        try:
            bucket = self._captor.capture(args, kwargs)
        except Exception as error:  # noqa: BLE001 - the plain call raises what is the function's
            self._refused[key] = f"{error}" or type(error).__name__
            return None, self._refused[key]
        self._buckets[key] = bucket
        return bucket, ""

    def _news(self, key: _Key) -> str:
        """Say what about a key is new against the bucket that is most like it."""
        if not self._buckets:
            return "no graph was captured"
        known = max(
            self._buckets, key=lambda other: sum(a == b for a, b in zip(key, other, strict=True))
        )
        if known[0] != key[0]:
            return "the arguments are nested in another way"
        leaves: list[tuple[object, object]] = list(zip(known[1], key[1], strict=True))  # type: ignore[call-overload]
        for index, (before, now) in enumerate(leaves):
            if before != now:
                return f"argument {index} has another shape, type or value"
        changed = [
            words
            for words, before, now in zip(self._captor.mode(), known[2], key[2], strict=True)  # type: ignore[call-overload]
            if before != now
        ]
        return f"{changed[0]} changed"


def graph(
    function: Callable[..., object],
    *example_args: object,
    state: object = (),
    reuse_outputs: bool = False,
    buckets: int = 8,
    stream: object = None,
    **example_kwargs: object,
) -> GraphedCallable:
    """Capture a function into a CUDA graph, and return a callable that replays it.

    A call then costs one launch. On an H200 a decoding step of a GPT took 1.49 ms instead of
    11.5 ms, a training step of an MLP 0.625 ms instead of 3.12 ms (``docs/graph.md``).

    Args:
        function: What to capture: a function, a bound method, a module. It is called six
            times; state that it changes is put back afterwards.
        example_args: The arguments of a typical call.
        state: Modules, optimizers, arrays (or a tuple or list of them) that the function changes
            and that cannot be reached from it by its closure, ``self`` or global names.
        reuse_outputs: Return the graph's own output buffers, which the next call overwrites.
        buckets: How many graphs there may be, one for each shape of the arguments.
        stream: A cuda-core stream, for a function that takes one and launches on it.
        example_kwargs: Keyword arguments of a typical call.

    Raises:
        GraphRefusedError: The function cannot be captured, or its replays are not its plain
            calls' equals; the program is as before.
        UsageError: There is nothing to tell which library the function works with.
    """
    if buckets < 1:
        raise UsageError(f"buckets={buckets}: ask for at least one graph")
    if hami.shares_the_gpu(os.environ):
        raise GraphRefusedError(
            f"HAMi ({hami.LIBRARY}) limits this process's share of the GPU, and a graph's launches "
            "escape its count; run plainly here, or on a GPU of its own"
        )
    kept = tuple(state) if isinstance(state, list | tuple) else (state,)
    leaves, _ = flatten((example_args, example_kwargs))
    default = () if stream is None else (stream,)
    captor = _captor(function, [function, *leaves], kept, stream, reuse_outputs=reuse_outputs)
    graphed = GraphedCallable(function, captor, buckets, default)
    graphed.add((*default, *example_args), example_kwargs)
    return graphed


def _captor(
    function: Callable[..., object],
    items: list[object],
    state: tuple[object, ...],
    stream: object,
    *,
    reuse_outputs: bool,
) -> Captor:
    """Return the captor for the library that the arguments are of."""
    if stream is not None:
        core = sys.modules.get("cuda.core")
        if core is None or not isinstance(stream, core.Stream):
            raise UsageError(
                f"stream= takes a cuda.core.Stream, not a {type(stream).__name__}; torch and CuPy "
                "functions run on their library's current stream"
            )
        return CoreCaptor(core, function, state)
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if cupy is not None and (
        torch is None or any(isinstance(i, cupy.ndarray) for i in (*items, *state))
    ):
        return CupyCaptor(cupy, function, state, reuse_outputs=reuse_outputs)
    if torch is not None:
        return TorchCaptor(torch, function, state, reuse_outputs=reuse_outputs)
    raise UsageError(
        "tailwave.graph captures functions of torch tensors, of CuPy arrays, or of a cuda-core "
        "stream (stream=), and none of these libraries is imported"
    )
