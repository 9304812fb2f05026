"""Captures a function of torch tensors: warm-up, capture, and the comparison on new inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import ModuleType

from tailwave.cures.library.capture.captor import Foreign
from tailwave.cures.library.capture.compare import hold_against
from tailwave.cures.library.capture.refusals import refusal
from tailwave.cures.library.capture.survey import roots_of, survey
from tailwave.cures.library.capture.torch_graph import TorchBucket, Turn, record
from tailwave.cures.library.capture.torch_state import State, TorchArrays
from tailwave.cures.library.capture.torch_watch import no_waits, watch
from tailwave.cures.library.capture.tree import Form, flatten, is_plain, token, whole
from tailwave.cures.library.frameworks import green_context
from tailwave.errors import GraphRefusedError

_Call = Callable[[list[object]], object]  # the function, called with a flat list of arguments
_WHOLE_STEP = (
    "capture the whole training step (forward, backward and optimizer.step in one function), or "
    "call it under torch.no_grad()"
)


class TorchCaptor:
    """Makes graphs of one function; they share a memory pool and take turns."""

    def __init__(
        self,
        torch: ModuleType,
        function: Callable[..., object],
        state: tuple[object, ...],
        *,
        reuse_outputs: bool,
    ) -> None:
        """Note what to capture, and what of the program the captures depend on."""
        if not torch.cuda.is_available():
            raise GraphRefusedError(
                "torch sees no CUDA GPU here, and graphs are CUDA's; call the function plainly"
            )
        self._torch, self._function, self._reuse = torch, function, reuse_outputs
        self._arrays = TorchArrays(torch)
        self._roots = roots_of(function, state)
        self._pool: Foreign = None
        self._side: Foreign = None
        self._turn: Turn | None = None
        found = survey(self._roots, self._arrays.is_array)
        self._modules = found.of(torch.nn.Module)
        self._optimizers = found.of(torch.optim.Optimizer)
        self._parameters = [
            tensor
            for module in self._modules
            for tensor in (*module._parameters.values(), *module._buffers.values())  # noqa: SLF001
            if tensor is not None
        ]

    def describe(self, leaf: object) -> tuple[object, ...]:
        """Return what an argument adds to a bucket's key."""
        if not isinstance(leaf, self._torch.Tensor):
            return token(leaf)
        if str(leaf.layout) != "torch.strided":
            return (leaf.layout, leaf.device)
        return (leaf.dtype, leaf.device, leaf.shape, leaf.stride(), leaf.requires_grad)

    def mode(self) -> dict[str, object]:
        """Return what else the key is made of, each by the words for "it changed"."""
        torch = self._torch
        return {
            "the gradient or autocast mode": (
                torch.is_grad_enabled(),
                torch.is_inference_mode_enabled(),
                torch.is_autocast_enabled("cuda"),
                torch.get_autocast_dtype("cuda"),
            ),
            "a module's train/eval mode": tuple([m.training for m in self._modules]),
            "an optimizer's setting (a learning rate that changes has to be a CUDA tensor)": tuple(
                token(value)
                for optimizer in self._optimizers
                for group in optimizer.param_groups
                for name, value in (*group.items(), ("state", optimizer.state))
                if name != "params"
            ),
            "a parameter's memory": tuple([tensor.data_ptr() for tensor in self._parameters]),
            "the stream of another context": self._green(),
        }

    def is_capturing(self) -> bool:
        """Tell whether the current stream is being captured by somebody else."""
        return bool(self._torch.cuda.is_current_stream_capturing())

    def capture(self, args: tuple[object, ...], kwargs: dict[str, object]) -> TorchBucket:
        """Capture a call; raises GraphRefusedError, or what the function itself raises.

        Either way the program's state is as before.
        """
        leaves, form = flatten((args, kwargs))
        device = self._device(leaves)
        turn = self._prepare(device)
        with self._torch.cuda.device(device), self._on_stream():
            # Arguments that are no tensors may hold state (a cache object).
            objects = {
                f"argument {index}": leaf
                for index, leaf in enumerate(leaves)
                if not is_plain(leaf) and not self._arrays.is_array(leaf)
            }
            state = State(self._arrays, self._roots | objects, device)
            try:
                return self._captured(leaves, form, state, turn)
            except BaseException:
                state.back()
                raise

    def _captured(self, leaves: list[object], form: Form, state: State, turn: Turn) -> TorchBucket:
        """Warm up, capture, compare; leave the state ready for the first replay."""
        torch = self._torch
        inputs = {
            i: self._arrays.copy(leaf)
            for i, leaf in enumerate(leaves)
            if self._arrays.is_array(leaf)
        }
        static = [inputs.get(index, leaf) for index, leaf in enumerate(leaves)]

        def call(given: list[object]) -> object:
            args, kwargs = whole(form, given)
            return self._function(*args, **kwargs)

        self._warm_up(call, static, state)
        versions = [tensor._version for tensor in inputs.values()]  # noqa: SLF001
        graph, result = record(torch, lambda: call(static), self._pool, state.generators)
        try:
            changed = [
                index
                for (index, tensor), before in zip(inputs.items(), versions, strict=True)
                if tensor._version != before  # noqa: SLF001
            ]
            state.settle()
            outputs, out_form = flatten(result)
            outputs = [self._output(out, state) for out in outputs]
            bucket = TorchBucket(
                turn=turn,
                graph=graph,
                inputs=inputs,
                form=out_form,
                outputs=outputs,
                reuse_outputs=self._reuse,
                gradients=state.bound_gradients(),
                kept=tuple(leaves),
                changed_inputs=tuple(changed),
            )
            self._hold_against(call, bucket, static, state)
            state.ready()
        except BaseException:
            graph.reset()
            raise
        return bucket

    def _warm_up(self, call: _Call, static: list[object], state: State) -> None:
        """Run three times: freely, watched, and once more as it will be captured."""
        call(static)
        try:
            known = {id(tensor) for tensor in state.found.arrays.values()}
            with no_waits(self._torch):
                with watch(self._torch, known):
                    call(static)
                call(static)
        except Exception as error:
            raise refusal(error) from error

    def _hold_against(
        self, call: _Call, bucket: TorchBucket, static: list[object], state: State
    ) -> None:
        """Compare plain calls and replays. The bucket knows the arguments that torch saw written.

        A kernel of the program's own writes to one without torch's count of it.
        """
        try:
            hold_against(self._arrays, call, bucket, static, state)
        except Exception as error:
            raise refusal(error) from error

    def _output(self, out: Foreign, state: State) -> object:
        """Return an output to hand out at each call, without its gradient graph."""
        if not self._arrays.is_array(out):
            if is_plain(out) or isinstance(out, self._torch.dtype | self._torch.device):
                return out
            raise GraphRefusedError(
                f"the function returns a {type(out).__name__}, in which tensors cannot be found; "
                "return tensors in tuples, lists, dicts or dataclasses"
            )
        if out.requires_grad and not state.has_stepped():
            raise GraphRefusedError(
                "the function's output needs gradients, and a graph of forward alone gives none: "
                f"{_WHOLE_STEP}"
            )
        return out.detach()

    def _device(self, leaves: list[object]) -> Foreign:
        """Return the one GPU that the arguments are on, or the current one without any."""
        torch = self._torch
        tensors: list[tuple[int, Foreign]] = [
            (i, leaf) for i, leaf in enumerate(leaves) if self._arrays.is_array(leaf)
        ]
        for index, tensor in tensors:
            self._refuse_argument(index, tensor)
        devices = {tensor.device for _, tensor in tensors}
        if len(devices) > 1:
            raise GraphRefusedError(
                "the arguments are on several GPUs, and a graph belongs to one; capture each "
                "GPU's part by itself"
            )
        return next(iter(devices), torch.device("cuda", torch.cuda.current_device()))

    def _refuse_argument(self, index: int, tensor: Foreign) -> None:
        """Refuse an argument that cannot be copied into a static buffer."""
        if str(tensor.layout) != "torch.strided":
            raise GraphRefusedError(
                f"argument {index} is sparse, and a graph needs fixed sizes; make it dense"
            )
        if tensor.device.type != "cuda":
            raise GraphRefusedError(
                f"argument {index} is in {tensor.device.type.upper()} memory; move it to the GPU "
                'before the call (`x.to("cuda", non_blocking=True)`), or pass a plain number'
            )
        if tensor.requires_grad and self._torch.is_grad_enabled():
            raise GraphRefusedError(
                f"argument {index} needs gradients, which would not pass through a graph: "
                f"{_WHOLE_STEP}"
            )

    def _prepare(self, device: Foreign) -> Turn:
        """Make the pool and the side stream, once."""
        if self._turn is not None:
            return self._turn
        with self._torch.cuda.device(device):
            self._pool = self._torch.cuda.graph_pool_handle()
            self._side = self._torch.cuda.Stream(device)
        self._turn = Turn(self._torch, device)
        return self._turn

    @contextmanager
    def _on_stream(self) -> Iterator[None]:
        """Work on a stream that can be captured, with nothing else on the GPU in flight.

        A stream of a green context is captured itself, because a kernel's node keeps the SMs of
        the context that it was captured in.
        """
        torch = self._torch
        torch.cuda.synchronize()
        cached = torch.is_autocast_cache_enabled()
        # Weights that autocast has cast outside of the capture are freed when its block ends.
        torch.clear_autocast_cache()
        torch.set_autocast_cache_enabled(False)
        try:
            with nullcontext() if self._green() else torch.cuda.stream(self._side):
                yield
        finally:
            torch.set_autocast_cache_enabled(cached)
            torch.cuda.synchronize()

    def close(self) -> None:
        """Let go of the pool, whose memory goes with the last graph."""
        self._pool = self._side = self._turn = None

    def _green(self) -> int:
        """Return the current stream's green context; 0 for none.

        The ids of torch's own streams, which have none, are 0 or odd; others' are their address.
        """
        stream = self._torch.cuda.current_stream()
        own = stream.stream_id % 2 or not stream.stream_id
        return 0 if own else green_context(stream.cuda_stream)
