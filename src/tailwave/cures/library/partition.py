"""Gives streams SMs of their own: one split of the GPU into disjoint groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from typing import Final, Literal, NamedTuple, TypeAlias, overload
from weakref import WeakSet

from tailwave.cures.library.closing import Closing
from tailwave.cures.library.gpu import Gpu, on_current_gpu, on_gpu
from tailwave.cures.library.priority import number_of
from tailwave.cures.library.work_stream import WorkStream
from tailwave.errors import UnavailableError, UsageError
from tailwave.gpu import DeniedError, Feature, Launch, NotSupportedError
from tailwave.gpu.devices.cuda import (
    CoreContext,
    CoreSms,
    CoreStream,
    CudaDevice,
    CudaStream,
    Split,
    confined,
    guarded,
    split,
)

Asked: TypeAlias = int | Literal["rest"]

_REST: Final = "rest"

# CTAs for each SM of the group. One fills an SM, so that without walls they would spill over.
_CTAS_PER_SM: Final = 4
# How long each stays (ns): longer than all are dispatched in, so that no SM is left out.
_STAY_NS: Final = 50_000
_WORDS: Final = 4  # of the kernel for each CTA, the first of them the SM

# Those that are in use, and perhaps closed ones: each call splits the whole GPU anew.
_GROUPS: WeakSet[SmGroup] = WeakSet()


class Allotment(NamedTuple):
    """What a group was asked for and got."""

    asked: Asked
    context: CoreContext
    remaining: int
    shared: bool  # with an earlier partition


class SmGroup(WorkStream):
    """A stream whose work runs on SMs of its own, and on no other.

    ``asked`` is what the call said; ``sm_count`` is what the group has. ``note`` says what was
    rounded, and whether the SMs may be those of another partition ("" if neither). ``remaining``
    SMs of the GPU are in no group of the same partition.
    """

    def __init__(
        self, core: CoreStream, device: int, stack: ExitStack, allotment: Allotment
    ) -> None:
        """Take a stream in a context of its SMs."""
        super().__init__(core, device, stack)
        self._context = allotment.context
        self.asked = allotment.asked
        self.sm_count = allotment.context.resources.sm.sm_count
        self.remaining = allotment.remaining
        self.note = _note(self.asked, self.sm_count, shared=allotment.shared)
        _GROUPS.add(self)

    def prove(self) -> frozenset[int]:
        """Run a kernel in the stream, and return the ids of the SMs that it ran on.

        Waits for all work of the GPU. While other streams' kernels fill some of its SMs, these are
        missing. Under MPS the ids are no places on the chip.
        """
        core = self._open()
        with on_gpu(self.device) as gpu:
            return _sms_used(gpu, core, self.sm_count)

    def another_stream(self, priority: str | None = None) -> WorkStream:
        """Make one more stream on the same SMs; it does not keep the group open."""
        self._open()
        with on_gpu(self.device) as gpu, ExitStack() as stack:
            core = _stream(gpu, self._context, priority, stack)
            return WorkStream(core, self.device, stack.pop_all())


class Partition(tuple[SmGroup, ...], Closing):
    """The groups of one split, in the order in which they were asked for."""

    __slots__ = ()

    def close(self) -> None:
        """Close every group."""
        with ExitStack() as stack:
            for group in self:
                stack.callback(group.close)


@overload
def partition(sms: int) -> SmGroup: ...


@overload
def partition(sms: Sequence[Asked]) -> Partition: ...


def partition(sms: int | Sequence[Asked]) -> SmGroup | Partition:
    """Split the SMs of the current GPU, and give each group of them a stream.

    On an H200 a stream beside a tenant of large matrix products took 0.675 ms a step on 32 SMs of
    its own, and 6.49 ms without (``docs/examples.md``).

    A number makes one group; a sequence of numbers one each, and the word "rest" in it the group
    of all SMs that the others leave. Sizes are rounded up to what the GPU can make a group of (8
    from compute capability 9.0 on). The groups of one call are disjoint; those of another call may
    be the same SMs (then `note` says so), so ask for all in one. Make a partition once and keep it:
    driver 580 never gives back some 4 MiB of device memory for each group that was closed.

    Raises UsageError for what is no number of SMs, and UnavailableError, with what to do next, when
    there are not so many, or where the GPU, its driver or the installation cannot split.
    """
    groups = _split(_checked([sms] if isinstance(sms, int) else sms))
    return groups[0] if isinstance(sms, int) else groups


def _checked(asked: Iterable[object]) -> list[Asked]:
    """Return what was asked for; raises UsageError."""
    asked = [asked] if isinstance(asked, str) else list(asked)
    sizes: list[Asked] = []
    for one in asked:
        if one == _REST:
            sizes.append("rest")
        elif isinstance(one, int) and not isinstance(one, bool) and one > 0:
            sizes.append(one)
        else:
            raise UsageError(f"A group is a number of SMs above 0, or 'rest', not {one!r}.")
    if sizes.count("rest") == len(sizes) or sizes.count("rest") > 1:
        raise UsageError("Say how many SMs each group has; one of several may be the 'rest'.")
    return sizes


def _split(asked: Sequence[Asked]) -> Partition:
    with on_current_gpu() as gpu:
        gpu.require(Feature.PARTITION)
        found = _found(gpu, [one for one in asked if one != "rest"])
        remaining = 0 if _REST in asked else found.rest.sm_count
        shared = any(not group.closed and group.device == gpu.number for group in list(_GROUPS))
        with ExitStack() as made:
            groups = Partition(
                made.enter_context(_group(gpu, pieces, one, remaining, shared=shared))
                for one, pieces in zip(asked, _in_order(asked, found), strict=True)
            )
            made.pop_all()
    return groups


def _found(gpu: Gpu, sizes: Sequence[int]) -> Split:
    try:
        return split(gpu.libraries, gpu.core.resources.sm, sizes)
    except (NotSupportedError, DeniedError) as error:
        if not gpu.nvml().mig:
            raise
        raise UnavailableError(
            f"{error} The GPU is divided by MIG, and this instance has only its share of the SMs: "
            "take a larger instance, or turn MIG off."
        ) from error


def _in_order(asked: Sequence[Asked], found: Split) -> list[list[CoreSms]]:
    """Return the SMs of each group, the rest among them where it was asked for."""
    groups = list(found.groups)
    if _REST in asked:
        if not found.rest.sm_count:
            raise UnavailableError(
                "Nothing is left for the 'rest': the other groups, as rounded, have all SMs. "
                "Ask for fewer."
            )
        groups.insert(list(asked).index("rest"), [found.rest])
    return groups


def _group(
    gpu: Gpu, pieces: Sequence[CoreSms], asked: Asked, remaining: int, *, shared: bool
) -> SmGroup:
    with ExitStack() as stack:
        context = confined(gpu.libraries, gpu.core, pieces, stack)
        core = _stream(gpu, context, None, stack)
        allotment = Allotment(asked, context, remaining, shared)
        return SmGroup(core, gpu.number, stack.pop_all(), allotment)


def _stream(gpu: Gpu, context: CoreContext, priority: str | None, stack: ExitStack) -> CoreStream:
    number = None if priority is None else number_of(gpu, priority)
    with guarded("making a stream in a group of SMs"):
        stream = context.create_stream(gpu.libraries.core.StreamOptions(priority=number))
        stack.callback(stream.close)
        return stream


def _note(asked: Asked, count: int, *, shared: bool) -> str:
    notes = []
    if asked not in ("rest", count):
        notes.append(
            f"{asked} SMs were asked for, and {count} given: groups are made of whole units."
        )
    if shared:
        notes.append(
            "Another partition is open, and these may be its SMs too: "
            "ask for all groups in one call to keep them apart."
        )
    return " ".join(notes)


def _sms_used(gpu: Gpu, stream: CoreStream, sm_count: int) -> frozenset[int]:
    """Run a kernel on a stream and return the ids of the SMs that its CTAs read from ``%smid``.

    Waits for all work of the GPU. Raises NotSupportedError and what a GPU that fails raises.
    """
    with closing(CudaDevice(gpu.libraries, gpu.core, gpu.nvml())) as device:
        ctas = _CTAS_PER_SM * sm_count
        out = device.buffer(_WORDS * ctas)
        launch = Launch("spin", ctas, 32, (out, _STAY_NS), shared=-1)
        device.synchronize()
        device.launch(CudaStream(stream, sm_count), launch)
        device.synchronize()
        ids = out.read()[::_WORDS]
        out.free()
        return frozenset(ids.tolist())
