"""What happens to small work beside a tenant that fills the GPU, and what helps?

No published figure was found.

The article recommends priorities, graphs and "cooperative launch" against jitter, without a test.
The victim is a pair of short kernels, waited for; the tenant has queued kernels whose CTAs
fill every SM. A running CTA is never stopped, and what was queued before goes first.

- ``interference.alone``, ``.shared``: time of the pair without and with the tenant (us),
  ``quantile`` p50 and p99 of a hundred pairs.
- ``interference.priority``, ``.graph``: beside it on a high-priority stream, or as a graph.
- ``interference.partition``: with ``sms`` SMs of its own, the tenant on the others.
- ``interference.tenant_pays``: the tenant's time on those others over its time on all SMs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tailwave.gpu.devices.base import Buffer, DeviceFailedError, Feature, Launch, Stream
from tailwave.gpu.probes.lab import Lab
from tailwave.gpu.probes.measure import Figure
from tailwave.gpu.probes.parts import Better, Headline, Part, Probe, Results
from tailwave.model import Measurement, Parameters

_KERNELS = 2
_VICTIM_CTAS = 16
_VICTIM_CYCLES = 4_000
_RUNS = 100
_SAMPLES = 8
_SAMPLES_ALONE = 40  # with no tenant to queue they take less time
_TENANT_WAVES = 2
_TENANT_CYCLES = 40_000
_TENANT_PERIOD_NS = 40_000  # what two waves of so many cycles take at 2 GHz
_TENANT_THREADS = 1024
_GOLDEN = 0.6180339887
_TENANT_QUEUE = 6
_TENANT_QUEUE_MOST = 512
_PARTITION_SHARE = 4
_HIGH_PRIORITY = -1


class _Tenant:
    """Kernels that fill all SMs, on a stream of their own."""

    def __init__(self, lab: Lab, out: Buffer, stream: Stream) -> None:
        """Queue nothing yet; ``out`` has a word per CTA."""
        self._lab = lab
        self._stream = stream
        self._kernel = Launch("hog", out.words, _TENANT_THREADS, (out, _TENANT_CYCLES), -1)
        self._out = out
        self._queue = _TENANT_QUEUE
        self._phase = 0.0

    def outlast(self, victim: Callable[[], None]) -> float:
        """Time the victim beside kernels enough to last longer than it (us)."""
        while self._queue <= _TENANT_QUEUE_MOST:
            self._launch_out_of_phase()
            time = self._lab.timed_us(victim)
            if self._lab.timed_us(self._wait) > time / self._queue:
                return time
            self._queue *= 2
        raise DeviceFailedError("The victim outlasted every tenant that could be queued.")

    def busy_us(self) -> float:
        """Return how long the queue takes with no one beside it (us)."""

        def work() -> None:
            self._queue_up()
            self._wait()

        return self._lab.timed_us(work)

    def _launch_out_of_phase(self) -> None:
        """Queue the kernels, each time at another phase to the victim.

        Steps of the golden ratio fill the period of a kernel evenly, however many there are.
        """
        self._phase = (self._phase + _GOLDEN) % 1
        wait_ns = int(self._phase * _TENANT_PERIOD_NS)
        self._lab.device.launch(self._stream, Launch("spin", 1, 32, (self._out, wait_ns)))
        self._queue_up()

    def _queue_up(self) -> None:
        for _ in range(self._queue):
            self._lab.device.launch(self._stream, self._kernel)

    def _wait(self) -> None:
        self._lab.device.synchronize(self._stream)


@contextmanager
def _tenant(lab: Lab, stream: Stream) -> Iterator[_Tenant]:
    with lab.words(_TENANT_WAVES * lab.sm_count) as out:
        yield _Tenant(lab, out, stream)


@contextmanager
def _victim(lab: Lab, stream: Stream) -> Iterator[Callable[[], None]]:
    """Make the pair, launched kernel by kernel."""
    with lab.words(4 * _VICTIM_CTAS) as out:
        kernel = _kernel(out)

        def work() -> None:
            for _ in range(_KERNELS):
                lab.device.launch(stream, kernel)
            lab.device.synchronize(stream)

        yield work


def _kernel(out: Buffer) -> Launch:
    """Return a kernel that, as most do that matter, needs an SM's shared memory for each CTA."""
    return Launch("stamp", _VICTIM_CTAS, 32, (out, _VICTIM_CYCLES), -1)


def _alone(lab: Lab) -> Results:
    with _victim(lab, lab.stream) as victim:
        yield from _quantiles(lab, "alone", lambda: lab.timed_us(victim), most=_SAMPLES_ALONE)


def _shared(lab: Lab) -> Results:
    with _tenant(lab, lab.stream) as tenant, _victim(lab, lab.device.stream()) as victim:
        yield from _quantiles(lab, "shared", lambda: tenant.outlast(victim))


def _priority(lab: Lab) -> Results:
    lab.need(Feature.PRIORITY)
    first = lab.device.stream(priority=_HIGH_PRIORITY)
    with _tenant(lab, lab.stream) as tenant, _victim(lab, first) as victim:
        yield from _quantiles(lab, "priority", lambda: tenant.outlast(victim))


def _graph(lab: Lab) -> Results:
    lab.need(Feature.GRAPHS)
    stream = lab.device.stream()
    with _tenant(lab, lab.stream) as tenant, lab.words(4 * _VICTIM_CTAS) as out:
        graph = lab.device.graph([_kernel(out)] * _KERNELS)

        def victim() -> None:
            graph.launch(stream)
            lab.device.synchronize(stream)

        yield from _quantiles(lab, "graph", lambda: tenant.outlast(victim))


def _partition(lab: Lab) -> Results:
    lab.need(Feature.PARTITION)
    with lab.device.partition([lab.sm_count // _PARTITION_SHARE]) as (own, *_, others):
        parameters: Parameters = {"sms": own.sm_count}
        with _tenant(lab, others) as tenant, _victim(lab, own) as victim:
            yield from _quantiles(
                lab, "partition", lambda: tenant.outlast(victim), parameters=parameters
            )
        with _tenant(lab, others) as tenant, _tenant(lab, lab.stream) as whole:
            yield lab.measure(
                "interference.tenant_pays",
                "ratio",
                lambda: tenant.busy_us() / whole.busy_us(),
                parameters=parameters,
                headline=True,
            )


def _quantiles(
    lab: Lab,
    name: str,
    run_us: Callable[[], float],
    *,
    parameters: Parameters | None = None,
    most: int = _SAMPLES,
) -> Iterator[Measurement]:
    """Measure p50 and p99 of the victim; one sample is a hundred runs of it."""
    full_name = f"interference.{name}"
    figure = Figure(full_name, "us", parameters or {}, headline=full_name in HEADLINES)

    def sample() -> list[float]:
        return [run_us() for _ in range(_RUNS)]

    yield from lab.quantiles(figure, sample, first_use=run_us, most=most)


HEADLINES = {
    "interference.alone": Headline(
        "small work alone", Better.LESS, "what a request costs on an idle GPU", host=True
    ),
    "interference.shared": Headline(
        "small work beside a tenant",
        Better.LESS,
        "what a request costs when somebody else fills the GPU",
        host=True,
    ),
    "interference.partition": Headline(
        "small work beside a tenant, with SMs of its own",
        Better.LESS,
        "what a request costs when SMs are set apart for it",
        host=True,
    ),
    "interference.tenant_pays": Headline(
        "the tenant's time on the SMs left to it",
        Better.LESS,
        "what setting SMs apart costs the work that loses them",
    ),
}
PROBE = Probe(
    "interference",
    (
        Part(("interference.alone",), _alone),
        Part(("interference.shared",), _shared),
        Part(("interference.priority",), _priority),
        Part(("interference.graph",), _graph),
        Part(("interference.partition", "interference.tenant_pays"), _partition),
    ),
    HEADLINES,
)
