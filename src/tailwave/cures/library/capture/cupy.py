"""Captures a function of CuPy arrays by CuPy's own stream capture."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import ModuleType

from tailwave.cures.library.capture.captor import WARM_UPS, Array, Foreign, Values
from tailwave.cures.library.capture.compare import copied, hold_against
from tailwave.cures.library.capture.refusals import at, line_of
from tailwave.cures.library.capture.survey import roots_of, survey
from tailwave.cures.library.capture.tree import Form, flatten, is_plain, rebuild, token, whole
from tailwave.cures.library.frameworks import green_context
from tailwave.errors import GraphRefusedError


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
        self._roots = roots_of(function, state)
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
        static = copied(self._arrays, leaves)
        inputs = {i: leaf for i, leaf in enumerate(static) if self._arrays.is_array(leaf)}

        def call(given: list[object]) -> object:
            args, kwargs = whole(form, given)
            return self._function(*args, **kwargs)

        # Only what the graph works on is of the pool: what the capture frees into it is written
        # to by each replay.
        with self._cupy.cuda.using_allocator(self._pool.malloc):
            for _ in range(WARM_UPS):
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
        hold_against(self._arrays, call, bucket, static, state)
        return bucket

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


class CupyArrays:
    """Copies and compares CuPy arrays."""

    def __init__(self, cupy: ModuleType) -> None:
        """Keep CuPy, which the program has imported."""
        self.cupy = cupy

    def is_array(self, item: object) -> bool:
        """Tell whether something is a CuPy array."""
        return isinstance(item, self.cupy.ndarray)

    def type_name(self, array: Array) -> str:
        """Return the type of the elements, as "float32"."""
        return str(array.dtype)

    def same_bits(self, one: Array, other: Array) -> bool:
        """Tell whether two arrays hold the same bytes, NaN included."""
        return bool(self.on_host(one).tobytes() == self.on_host(other).tobytes())

    def on_host(self, array: Array) -> Values:
        """Return the values."""
        values: Values = self.cupy.asnumpy(array)
        return values

    def copy(self, array: Array) -> Array:
        """Return a copy with the same order of dimensions."""
        return array.copy(order="K")

    def like(self, array: Array, values: Values) -> Array:
        """Return an array laid out as another, with values of its own."""
        made = self.copy(array)
        made[...] = self.cupy.asarray(values)
        return made


class _State:
    """The arrays that the function can reach, and their values from before."""

    def __init__(self, found: dict[str, object], arrays: CupyArrays) -> None:
        """Copy them."""
        self._found, self._arrays = found, arrays
        self._saved = self.changed()

    def back(self) -> None:
        """Put the values from before back."""
        for label, array in self._found.items():
            array[...] = self._saved[label]  # type: ignore[index]

    ready = back  # a replay works on the same arrays as a plain call

    def changed(self) -> dict[str, Array]:
        """Return copies of all the arrays as they are."""
        return {label: self._arrays.copy(array) for label, array in self._found.items()}

    def paired(
        self, plain: dict[str, Array], replay: dict[str, Array]
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return both as they are, for both have every array."""
        return plain, replay


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
