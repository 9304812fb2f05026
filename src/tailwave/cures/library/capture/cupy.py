"""Captures a function of CuPy arrays by CuPy's own stream capture."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from tailwave.cures.library.capture.agree import Agreement, changed_arguments, compare
from tailwave.cures.library.capture.cupy_arrays import CupyArrays
from tailwave.cures.library.capture.fresh import fresh_leaves
from tailwave.cures.library.capture.green import green_context
from tailwave.cures.library.capture.state import survey
from tailwave.cures.library.capture.tree import Form, flatten, is_plain, rebuild, token, whole
from tailwave.cures.library.capture.types import Array, Foreign
from tailwave.cures.library.capture.where import at, line_of
from tailwave.errors import GraphRefusedError

_WARM_UPS = 3
_COMPARED = 2


class CupyCaptor:
    """Makes graphs of one function; they share a memory pool that nothing else draws on."""

    def __init__(
        self,
        cupy: ModuleType,
        function: Callable[..., object],
        state: tuple[object, ...],
        *,
        reuse_outputs: bool,
    ) -> None:
        """Note what to capture."""
        self._arrays, self._cupy = CupyArrays(cupy), cupy
        self._function, self._reuse = function, reuse_outputs
        name = getattr(function, "__name__", type(function).__name__)
        self._roots: dict[str, object] = {name: function}
        self._roots |= {f"state[{index}]": item for index, item in enumerate(state)}
        self._pool = cupy.cuda.MemoryPool()
        self._turn = _Turn()

    def describe(self, leaf: object) -> tuple[object, ...]:
        """Return what an argument adds to a bucket's key."""
        if not isinstance(leaf, self._cupy.ndarray):
            return token(leaf)
        return (leaf.dtype.str, leaf.shape, leaf.strides, leaf.device.id)

    def mode(self) -> dict[str, object]:
        """Return what else the key is made of, each by the words for "it changed"."""
        return {
            "the current GPU": self._cupy.cuda.Device().id,
            "the stream of another context": self._green(),
        }

    def is_capturing(self) -> bool:
        """Tell whether the current stream is being captured by somebody else."""
        return bool(self._cupy.cuda.get_current_stream().is_capturing())

    def capture(self, args: tuple[object, ...], kwargs: dict[str, object]) -> CupyBucket:
        """Capture a call; raises GraphRefusedError, or what the function itself raises."""
        leaves, form = flatten((args, kwargs))
        current = self._cupy.cuda.get_current_stream()
        own = current if self._green() else self._cupy.cuda.Stream(non_blocking=True)
        with own, _after(current, own):
            found = survey(self._roots, self._arrays.is_array)
            state = _State(found.arrays, self._arrays)
            try:
                return self._captured(leaves, form, state, own)
            finally:
                state.back()

    def _captured(
        self, leaves: list[object], form: Form, state: _State, stream: Foreign
    ) -> CupyBucket:
        """Warm up, capture, compare."""
        static = [self._arrays.copy(x) if self._arrays.is_array(x) else x for x in leaves]
        inputs = {i: leaf for i, leaf in enumerate(static) if self._arrays.is_array(leaf)}

        def call(given: list[object]) -> object:
            args, kwargs = whole(form, given)
            return self._function(*args, **kwargs)

        # Only what the graph works on is of the pool: what the capture frees into it is written
        # to by each replay.
        with self._cupy.cuda.using_allocator(self._pool.malloc):
            for _ in range(_WARM_UPS):
                call(static)
            graph, result = _recorded(stream, lambda: call(static))
        outputs, out_form = flatten(result)
        self._refuse_outputs(outputs)
        bucket = CupyBucket(
            cupy=self._cupy,
            graph=graph,
            turn=self._turn,
            inputs=inputs,
            form=out_form,
            outputs=outputs,
            kept=tuple(leaves),
            reuse_outputs=self._reuse,
        )
        bucket.agreement = str(self._compared(call, bucket, static, state))
        return bucket

    def _compared(
        self,
        call: Callable[[list[object]], object],
        bucket: CupyBucket,
        static: list[object],
        state: _State,
    ) -> Agreement:
        """Compare plain calls and replays on new inputs from equal state."""
        generator = np.random.default_rng(0)
        rounds = [fresh_leaves(self._arrays, static, generator) for _ in range(_COMPARED)]
        state.back()
        plain = [self._observed(call, given) for given in rounds]
        bucket.changed_inputs = changed_arguments(self._arrays, rounds, plain)
        plain_state = state.copies()
        state.back()
        replay = [self._observed(bucket.run, given) for given in rounds]
        agreement = Agreement()
        for one, other in zip(plain, replay, strict=True):
            compare(self._arrays, agreement, one, other)
        compare(self._arrays, agreement, plain_state, state.copies())
        return agreement

    def _observed(
        self, call: Callable[[list[object]], object], given: list[object]
    ) -> dict[str, object]:
        """Return copies of what a call returns and of its arguments after it."""
        leaves = [self._arrays.copy(x) if self._arrays.is_array(x) else x for x in given]
        outputs, _ = flatten(call(leaves))
        seen = {f"output {index}": out for index, out in enumerate(outputs)}
        seen |= {f"argument {i}": x for i, x in enumerate(leaves) if self._arrays.is_array(x)}
        return {
            name: self._arrays.copy(value) if self._arrays.is_array(value) else value
            for name, value in seen.items()
        }

    def _refuse_outputs(self, outputs: list[object]) -> None:
        """Refuse results in which arrays cannot be found."""
        for out in outputs:
            if not self._arrays.is_array(out) and not is_plain(out):
                raise GraphRefusedError(
                    f"the function returns a {type(out).__name__}, in which arrays cannot be "
                    "found; return CuPy arrays in tuples, lists, dicts or dataclasses"
                )

    def _green(self) -> int:
        """Return the current stream's green context; 0 for none."""
        return green_context(self._cupy.cuda.get_current_stream().ptr)

    def close(self) -> None:
        """Give the pool's memory back."""
        self._pool.free_all_blocks()


@dataclass
class _Turn:
    """The end of the last run of any graph of the pool: they share memory, and so take turns."""

    event: Foreign = None


@dataclass
class CupyBucket:
    """A captured call. Holds the arguments that its key names by identity."""

    cupy: ModuleType
    graph: Foreign
    turn: _Turn
    inputs: dict[int, Array]
    form: Form
    outputs: list[object]
    kept: tuple[object, ...]
    reuse_outputs: bool
    changed_inputs: tuple[int, ...] = ()
    agreement: str = ""

    def why_not(self) -> str:
        """Return why this call cannot be replayed: nothing can change here."""
        return ""

    def run(self, leaves: list[object]) -> object:
        """Copy the arguments in, replay, copy changed arguments back; return the outputs."""
        stream = self.cupy.cuda.get_current_stream()
        if self.turn.event is not None:
            stream.wait_event(self.turn.event)
        for index, static in self.inputs.items():
            static[...] = leaves[index]
        self.graph.launch(stream)
        for index in self.changed_inputs:
            leaves[index][...] = self.inputs[index]  # type: ignore[index]
        array = self.cupy.ndarray
        outputs = self.outputs
        if not self.reuse_outputs:
            outputs = [out.copy() if isinstance(out, array) else out for out in outputs]
        self.turn.event = stream.record()
        return rebuild(self.form, outputs)

    def close(self) -> None:
        """Free the graph and its buffers, once it has run."""
        if self.turn.event is not None:
            self.turn.event.synchronize()
        self.graph = None
        self.inputs.clear()
        self.outputs.clear()
        self.kept = ()


class _State:
    """The arrays that the function can reach, and their values from before."""

    def __init__(self, found: dict[str, object], arrays: CupyArrays) -> None:
        """Copy them."""
        self._found, self._arrays = found, arrays
        self._saved = self.copies()

    def copies(self) -> dict[str, Array]:
        """Return copies of the arrays as they are."""
        return {label: self._arrays.copy(array) for label, array in self._found.items()}

    def back(self) -> None:
        """Put the values from before back."""
        for label, array in self._found.items():
            array[...] = self._saved[label]  # type: ignore[index]


def _recorded(stream: Foreign, call: Callable[[], object]) -> tuple[Foreign, object]:
    """Capture a call; raises GraphRefusedError with the stream out of capture."""
    stream.begin_capture()
    try:
        result = call()
    except Exception as error:
        with suppress(Exception):  # the capture is already lost; this takes the stream out of it
            stream.end_capture()
        raise _refusal(error) from error
    try:
        return stream.end_capture(), result
    except Exception as error:
        raise _refusal(error) from error


def _refusal(error: Exception) -> GraphRefusedError:
    """Return the refusal for an exception during the capture."""
    first = (str(error).splitlines() or ["no message"])[0]
    return GraphRefusedError(
        f"the function does{at(line_of(error))} what no capture allows ({first}): it waits for "
        "the GPU (`float()`, `.get()`, an `if` on an array) or copies from CPU memory; do that "
        "outside of it"
    )


@contextmanager
def _after(current: Foreign, own: Foreign) -> Iterator[None]:
    """Let our own stream go on after the current one, and wait for it at the end."""
    own.wait_event(current.record())
    try:
        yield
    finally:
        own.synchronize()
