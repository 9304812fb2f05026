"""Confines a MODEL's denoising calls to a partition, by the wrappers that ComfyUI offers.

``ModelPatcher`` carries wrappers by name and key (``comfy/patcher_extension.py``, ``WrappersMP``):
``outer_sample`` goes around a whole sampling run (``CFGGuider.sample``), ``apply_model`` around
each call of the network (``BaseModel.apply_model``). They stack with other nodes' wrappers, unlike
the one ``model_function_wrapper``, and clones of the model take them along.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from tailwave.errors import UnavailableError, UsageError

from . import compiler, gpu, pool
from .foreign import Patcher, Tensor
from .pool import Lease, Place
from .runs import Recorder

Model = TypeVar("Model", bound=Patcher)

KEY = "tailwave"
OUTER_SAMPLE = "outer_sample"  # WrappersMP's own values, the same since it exists
APPLY_MODEL = "apply_model"
SIGMAS = 3  # where CFGGuider.outer_sample takes them: noise, latent_image, sampler, sigmas, ...


class Confined:
    """What a confined MODEL carries: its hold on the partition, and the figures of its runs.

    No other object holds the lease: when ComfyUI drops the last clone of the model, this goes and
    the partition is let go.
    """

    def __init__(self, lease: Lease, *, count_launches: bool) -> None:
        """Begin with no run."""
        self.lease = lease
        self.recorder = Recorder(count_launches=count_launches)
        self.compiler_was_on = False
        self.graphs_were_on = False

    def around_run(
        self, executor: Callable[..., object], *args: object, **kwargs: object
    ) -> object:
        """Go around a sampling run: note it."""
        self.compiler_was_on, self.graphs_were_on = compiler.on(), compiler.graphing()
        with self.recorder.run(_steps(args, kwargs)):
            return executor(*args, **kwargs)

    def around_call(
        self, executor: Callable[..., object], *args: object, **kwargs: object
    ) -> object:
        """Go around a denoising call: do it in the partition's stream."""
        self._refuse_elsewhere(cast("Tensor", args[0]))
        # Leaving makes the sampler's stream wait for the partition's, and entering did the
        # converse: no block of memory is used again on one while the other still reads it, so
        # tensors that cross need no record_stream.
        with compiler.paused(), self.lease.group.current():
            return self.recorder.call(lambda: executor(*args, **kwargs))

    def _refuse_elsewhere(self, tensor: Tensor) -> None:
        """Raise UnavailableError when the call is for another GPU than the partition's."""
        device = tensor.device
        if device.type != "cuda" or gpu.index_of(device) != self.lease.place.gpu:
            raise UnavailableError(
                f"The SM partition is on cuda:{self.lease.place.gpu}, and this denoising call on "
                f"{device}: put 'Tailwave: SM partition' after the node that chooses the device, "
                "and take out nodes that spread a model over several GPUs."
            )


def confine(model: Model, sms: int, *, count_launches: bool) -> Model:
    """Return a clone of a MODEL whose denoising calls run on so many SMs.

    Raises UnavailableError where no partition can be made. The model given stays as it is.
    """
    device = model.load_device
    gpu.refuse_unless_divisible(device, sms)
    lease = pool.POOL.lease(Place(gpu.index_of(device), sms))
    confined = Confined(lease, count_launches=count_launches)
    clone = model.clone()
    for kind, wrapper in (
        (OUTER_SAMPLE, confined.around_run),
        (APPLY_MODEL, confined.around_call),
    ):
        clone.remove_wrappers_with_key(kind, KEY)  # of a partition node before this one
        clone.add_wrapper_with_key(kind, KEY, wrapper)
    clone.set_attachments(KEY, confined)
    return clone


def confined_of(model: Patcher) -> Confined:
    """Return what a confined MODEL carries; raises UsageError for any other."""
    confined = model.get_attachment(KEY)
    if not isinstance(confined, Confined):
        raise UsageError(
            "This MODEL is in no partition: connect the one that comes out of "
            "'Tailwave: SM partition', the same that the sampler was given."
        )
    return confined


def _steps(args: tuple[object, ...], kwargs: dict[str, object]) -> int | None:
    """Return the number of the sampler's steps, one less than its noise levels."""
    sigmas = kwargs.get("sigmas", args[SIGMAS] if len(args) > SIGMAS else None)
    try:
        return len(sigmas) - 1  # type: ignore[arg-type]  # what it is, the except finds out
    except TypeError:
        return None
