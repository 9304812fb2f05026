"""What does a context cost, and what is a switch between two?

No published figure was found.

The article advises one context per process and names a variable that does not exist. Measured:

- ``context.create``: making another context and a stream in it (ms), in a process that has one.
- ``context.partition_create``: splitting the SMs into two groups with a stream each (ms).
- ``context.memory``: device memory that a further context takes (MiB).
- ``context.switch``: what a kernel takes longer when the kernel before it was another context's
  (us). Kernels of two contexts take turns; they do not run at once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from tailwave.gpu.devices.base import Feature, Launch, Stream
from tailwave.gpu.probes.lab import Lab
from tailwave.gpu.probes.parts import Better, Headline, Part, Probe, Results

_EMPTY = Launch("empty", 1, 32)
_TURNS = 20
_MIB = 1 << 20


def _create(lab: Lab) -> Results:
    lab.need(Feature.CONTEXTS)
    create = lab.device.create_context

    def memory() -> float:
        before = lab.device.free_bytes()
        with create():
            return (before - lab.device.free_bytes()) / _MIB

    yield lab.measure("context.create", "ms", lambda: _made_ms(lab, create))
    yield lab.measure("context.memory", "MiB", memory)


def _partition(lab: Lab) -> Results:
    lab.need(Feature.PARTITION)

    half = lab.sm_count // 2
    yield lab.measure(
        "context.partition_create",
        "ms",
        lambda: _made_ms(lab, lambda: lab.device.partition([half])),
    )


def _made_ms(lab: Lab, make: Callable[[], AbstractContextManager[object]]) -> float:
    """Return how long it takes to make something (ms), and then destroy it."""
    start = lab.device.clock_ns()
    with make():
        return (lab.device.clock_ns() - start) / 1e6


def _switch(lab: Lab) -> Results:
    lab.need(Feature.CONTEXTS)
    with lab.device.create_context() as other:

        def switch() -> float:
            turns = _turns_us(lab, lab.stream, other)
            alone = _turns_us(lab, lab.stream, lab.stream) + _turns_us(lab, other, other)
            return (turns - alone / 2) / (2 * _TURNS)

        yield lab.measure("context.switch", "us", switch, headline=True)


def _turns_us(lab: Lab, one: Stream, other: Stream) -> float:
    """Run kernels on two streams by turns, waiting for each (us)."""

    def work() -> None:
        for _ in range(_TURNS):
            for stream in (one, other):
                lab.device.launch(stream, _EMPTY)
                lab.device.synchronize(stream)

    return lab.timed_us(work)


HEADLINES = {
    "context.switch": Headline(
        "a switch between two contexts", Better.LESS, "what processes that share a GPU by turns pay"
    ),
}
PROBE = Probe(
    "context",
    (
        Part(("context.create", "context.memory"), _create),
        Part(("context.partition_create",), _partition),
        Part(("context.switch",), _switch),
    ),
    HEADLINES,
)
