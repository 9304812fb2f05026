"""A small model beside a tenant that queues large matrix products without end, on one GPU.

    python examples/noisy_neighbour.py [--json]

The victim is a chain of small products, as one request of a small model; the tenant is a thread of
the same process. The victim's latency is measured alone, beside the tenant as it is, and with what
is said to help: a CUDA graph, a high priority, SMs of its own, and those with a graph. What each
costs the tenant stands beside it. Needs PyTorch, tailwave[cuda] and a GPU of 40 SMs or more.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import NamedTuple, Self

import showing
from showing import Event, Stream, Tensor, Torch

import tailwave
from tailwave.errors import UnavailableError

VICTIM_SMS = 32
LAYERS, WIDTH, ROWS = 24, 1024, 128  # the victim: layers of a product and a ReLU
TENANT_WIDTH = 8192
QUEUED = 8  # products that the tenant has on the GPU at most
ALONE_S = 0.4  # how long the tenant is watched where there is no victim
ROUNDS, RUNS = 3, 120  # each condition is measured in turns: 360 runs
MOST_WAIT_S = 60.0  # a tenant that has finished nothing by then never will

ALONE, SHARED = "alone", "shared"
GRAPH_ALONE, GRAPH_SHARED = "alone, graph", "shared, graph"
PRIORITY = "shared, high priority"
PARTITION = f"{VICTIM_SMS} SMs of its own"
GRAPH_PARTITION = f"{VICTIM_SMS} SMs of its own, graph"
TENANT_ALONE = "the tenant alone"

Surroundings = Callable[[], AbstractContextManager[object]]


class Scene(NamedTuple):
    """Torch, the victim and its input, the tenant's data: the same in all conditions."""

    torch: Torch
    victim: Callable[[Tensor], Tensor]
    x: Tensor
    factors: tuple[Tensor, Tensor, Tensor]

    def once(self) -> object:
        """Run the victim on its own input."""
        return self.victim(self.x)

    def product(self) -> None:
        """Queue one of the tenant's products."""
        left, right, out = self.factors
        self.torch.mm(left, right, out=out)


class Stage(NamedTuple):
    """One condition, set up: the victim's run, and what surrounds the victim and the tenant.

    A victim or surroundings of None: there is no such party.
    """

    victim: Callable[[], object] | None
    around_victim: Surroundings
    around_tenant: Surroundings | None


Condition = Callable[[Scene], AbstractContextManager[Stage]]


class Found(NamedTuple):
    """What a condition gave: the victim's latencies (us), and the tenant's times a product (ms)."""

    us: list[float]
    tenant_ms: list[float]


def chain(torch: Torch, layers: Sequence[Tensor]) -> Callable[[Tensor], Tensor]:
    """Return the victim: each layer a product and a ReLU."""

    def victim(x: Tensor) -> Tensor:
        for weight in layers:
            x = torch.relu(x @ weight)
        return x

    return victim


def scene(torch: Torch) -> Scene:
    """Make the data on the GPU."""
    torch.manual_seed(0)

    def noise(*shape: int) -> Tensor:
        return torch.randn(shape, device="cuda", dtype=torch.bfloat16)

    layers = [noise(WIDTH, WIDTH) * (2 / WIDTH) ** 0.5 for _ in range(LAYERS)]
    factors = (*(noise(TENANT_WIDTH, TENANT_WIDTH) for _ in range(3)),)
    made = Scene(torch, chain(torch, layers), noise(ROWS, WIDTH), factors)
    torch.cuda.synchronize()
    return made


class Tenant:
    """A thread that queues products without end, a few ahead of the GPU."""

    def __init__(self, scene: Scene, around: Surroundings) -> None:
        """Take what surrounds its work: the stream that it uses."""
        self._scene, self._around = scene, around
        self._stop = threading.Event()
        self._ends: list[float] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="tenant", daemon=True)

    def __enter__(self) -> Self:
        """Start, and return once the GPU works for it; raise what went wrong, should it not."""
        self._thread.start()
        deadline = time.monotonic() + MOST_WAIT_S
        while len(self._ends) < QUEUED and self._thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.001)
        if len(self._ends) < QUEUED:
            self._stop.set()
            raise self._error or UnavailableError(
                f"The tenant's products did not end within {MOST_WAIT_S:.0f} s: see with "
                "`nvidia-smi` what else uses the GPU."
            )
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Let it finish what it has queued; raise what went wrong in it."""
        self._stop.set()
        self._thread.join()
        if self._error is not None and kind is None:
            raise self._error

    def mark(self) -> int:
        """Return how many products have ended."""
        return len(self._ends)

    def ms_since(self, mark: int) -> float:
        """Return the mean time a product took from a mark on (ms); NaN with none between."""
        return pace_ms(self._ends[max(mark - 1, 0) :])

    def _work(self) -> None:
        torch = self._scene.torch
        torch.cuda.set_device(0)  # a thread of its own has no context before
        try:
            with self._around():
                self._queue_products(torch)
        except BaseException as error:  # noqa: BLE001 - raised where the thread is joined
            self._error = error

    def _queue_products(self, torch: Torch) -> None:
        queued: deque[Event] = deque()
        while not self._stop.is_set():
            self._scene.product()
            end = torch.cuda.Event()
            end.record()
            queued.append(end)
            if len(queued) >= QUEUED:
                queued.popleft().synchronize()
                self._ends.append(time.perf_counter())
        torch.cuda.current_stream().synchronize()


def pace_ms(ends: Sequence[float]) -> float:
    """Return the mean time from one end (s) to the next, in ms; NaN with fewer than two."""
    return (ends[-1] - ends[0]) / (len(ends) - 1) * 1e3 if len(ends) > 1 else float("nan")


def _on(torch: Torch, stream: Stream) -> Surroundings:
    return lambda: torch.cuda.stream(stream)


@contextmanager
def alone(scene: Scene) -> Iterator[Stage]:
    """Run the victim with the GPU to itself."""
    yield Stage(scene.once, _on(scene.torch, scene.torch.cuda.Stream()), None)


@contextmanager
def alone_with_graph(scene: Scene) -> Iterator[Stage]:
    """Run the victim as a CUDA graph, with the GPU to itself."""
    with _graph_on(scene, _on(scene.torch, scene.torch.cuda.Stream())) as stage:
        yield stage


@contextmanager
def shared(scene: Scene) -> Iterator[Stage]:
    """Run both in plain streams."""
    torch = scene.torch
    yield Stage(scene.once, _on(torch, torch.cuda.Stream()), _on(torch, torch.cuda.Stream()))


@contextmanager
def shared_with_graph(scene: Scene) -> Iterator[Stage]:
    """Run the victim as a CUDA graph in a plain stream."""
    torch = scene.torch
    with _graph_on(scene, _on(torch, torch.cuda.Stream())) as stage:
        yield stage._replace(around_tenant=_on(torch, torch.cuda.Stream()))


@contextmanager
def shared_with_priority(scene: Scene) -> Iterator[Stage]:
    """Run the victim in a stream of high priority."""
    torch = scene.torch
    with tailwave.priority("high") as stream:
        yield Stage(scene.once, stream.current, _on(torch, torch.cuda.Stream()))


@contextmanager
def partition(scene: Scene) -> Iterator[Stage]:
    """Give each its own SMs."""
    with tailwave.partition([VICTIM_SMS, "rest"]) as (victim, tenant):
        yield Stage(scene.once, victim.current, tenant.current)


@contextmanager
def partition_with_graph(scene: Scene) -> Iterator[Stage]:
    """Give each its own SMs, and run the victim as a CUDA graph there."""
    with (
        tailwave.partition([VICTIM_SMS, "rest"]) as (victim, tenant),
        _graph_on(scene, victim.current) as stage,
    ):
        yield stage._replace(around_tenant=tenant.current)


@contextmanager
def tenant_alone(scene: Scene) -> Iterator[Stage]:
    """Run the tenant with the GPU to itself."""
    torch = scene.torch
    yield Stage(None, nullcontext, _on(torch, torch.cuda.Stream()))


@contextmanager
def _graph_on(scene: Scene, around: Surroundings) -> Iterator[Stage]:
    """Capture the victim on the stream that it will run on."""
    with around():
        graphed = tailwave.graph(scene.victim, scene.x)
    with graphed:
        yield Stage(lambda: graphed(scene.x), around, None)


CONDITIONS: Mapping[str, Condition] = {
    ALONE: alone,
    GRAPH_ALONE: alone_with_graph,
    SHARED: shared,
    GRAPH_SHARED: shared_with_graph,
    PRIORITY: shared_with_priority,
    PARTITION: partition,
    GRAPH_PARTITION: partition_with_graph,
    TENANT_ALONE: tenant_alone,
}


def measure(
    scene: Scene,
    conditions: Mapping[str, Condition],
    rounds: int = ROUNDS,
    runs: int = RUNS,
) -> dict[str, Found]:
    """Measure the conditions in turns, each set up anew every time."""
    found = {name: Found([], []) for name in conditions}
    for _ in range(rounds):
        for name, condition in conditions.items():
            with condition(scene) as stage:
                _watch(scene, stage, runs, found[name])
            scene.torch.cuda.synchronize()
    return found


def _watch(scene: Scene, stage: Stage, runs: int, found: Found) -> None:
    """Run both parties of a stage, and note what each got."""
    with contextlib.ExitStack() as stack:
        tenant = None
        if stage.around_tenant is not None:
            tenant = stack.enter_context(Tenant(scene, stage.around_tenant))
        stack.enter_context(stage.around_victim())
        if stage.victim is not None:
            showing.latencies(scene.torch, stage.victim, showing.WARM_UPS)
        since = tenant.mark() if tenant is not None else 0
        if stage.victim is None:
            time.sleep(ALONE_S)
        else:
            found.us.extend(showing.latencies(scene.torch, stage.victim, runs))
        if tenant is not None:
            found.tenant_ms.append(tenant.ms_since(since))


def tenant_cost(found: Found) -> float | None:
    """Return the tenant's time a product (ms), the median over the rounds; None without one."""
    return showing.quantile(found.tenant_ms, 0.5) if found.tenant_ms else None


def rows(found: Mapping[str, Found]) -> tuple[showing.Row, ...]:
    """Return a row for each condition."""
    return tuple(showing.Row(what, tuple(one.us), _remark(one)) for what, one in found.items())


def _remark(found: Found) -> str:
    cost = tenant_cost(found)
    return "" if cost is None else f"tenant: {cost:.2f} ms a product"


def gain(found: Mapping[str, Found]) -> float:
    """Return how many times lower the victim's p99 is with SMs of its own and a graph."""
    before, after = (showing.quantile(found[w].us, 0.99) for w in (SHARED, GRAPH_PARTITION))
    return before / after


def sentence(found: Mapping[str, Found]) -> str:
    """Say in one sentence what the figures show."""
    cost = {what: tenant_cost(one) for what, one in found.items()}
    return (
        f"With {VICTIM_SMS} SMs of its own and a CUDA graph the victim's p99 is {gain(found):.1f} "
        f"times lower than on the shared GPU; the tenant pays {cost[SHARED]:.2f} -> "
        f"{cost[GRAPH_PARTITION]:.2f} ms a product ({cost[TENANT_ALONE]:.2f} ms alone)."
    )


def show() -> showing.Shown:
    """Measure all conditions."""
    torch = showing.torch_on_gpu()
    gpu = torch.cuda.get_device_properties(0)
    if gpu.multi_processor_count < VICTIM_SMS + 8:  # the least that the tenant can be left with
        raise UnavailableError(
            f"This example needs {VICTIM_SMS + 8} SMs, and the {gpu.name} has "
            f"{gpu.multi_processor_count}: lower VICTIM_SMS in it."
        )
    found = measure(scene(torch), CONDITIONS)
    return showing.Shown(gpu.name, rows(found), sentence(found))


if __name__ == "__main__":
    raise SystemExit(showing.run(__doc__, show))
