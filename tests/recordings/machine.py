"""A host and a GPU that run a program and are recorded: recordings as they can be (us).

The GPU runs what each stream was given in order, a launch's latency after its call at the earliest;
the host goes on at once, but waits where the program waits::

    machine = Machine()
    with machine.step():
        machine.launch("gemm", 40)
        machine.wait()
    machine.trace.build()
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from tailwave.model import Timeline
from tests.builders import PAGEABLE_HTOD, PINNED_HTOD, Trace, copy, kernel

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

LATENCY = 5.0
_OPERATOR, _CALL = 10.0, 5.0
_NOTICED = 2.0


class Machine:
    """A clock for the host, one for each stream, and the recording of both."""

    def __init__(self) -> None:
        """Begin at 0 with idle streams."""
        self.trace = Trace()
        self.now = 0.0
        self._free: defaultdict[int, float] = defaultdict(float)
        self._steps = 0

    @contextmanager
    def step(self) -> Iterator[None]:
        """Mark what the host does as a step."""
        begin = self.now
        yield
        self.trace.step(begin, self.now, self._steps)
        self._steps += 1

    def launch(self, name: str, us: float, *, stream: int = 7, grid: int = -1) -> None:
        """Launch a kernel from an operator."""
        begin = max(self._free[stream], self.now + 1 + LATENCY)
        self._free[stream] = begin + us
        ran = kernel(name, begin, begin + us, stream=stream, grid=grid)
        self.trace.op("aten::mm", self.now, self.now + _OPERATOR)
        self.trace.launch(self.now + 1, self.now + 1 + _CALL, ran)
        self.now += _OPERATOR

    def copy(self, us: float, *, pageable: bool = False) -> None:
        """Copy to the GPU; from pageable memory that holds the host until it is done."""
        begin = max(self._free[7], self.now + 1 + LATENCY)
        self._free[7] = begin + us
        end = begin + us if pageable else self.now + 1 + _CALL
        name = PAGEABLE_HTOD if pageable else PINNED_HTOD
        ran = copy(name, begin, begin + us, size=round(us * 20_000))
        self.trace.op("aten::copy_", self.now, end + 1)
        self.trace.launch(self.now + 1, end, ran, call="cudaMemcpyAsync")
        self.now = end + 1

    def wait(self) -> None:
        """Wait until all streams are idle."""
        end = max(self.now, *self._free.values(), 0.0) + _NOTICED
        self.trace.call("cudaDeviceSynchronize", self.now, end)
        self.now = end

    def work(self, us: float) -> None:
        """Do something on the host that launches nothing."""
        self.trace.op("aten::sort", self.now, self.now + us)
        self.now += us


@st.composite
def programs(draw: DrawFn) -> Timeline:
    """Draw a program of one to six steps, alike or not, and record it."""
    machine = Machine()
    lengths = st.integers(1, 300)
    actions = st.one_of(
        st.tuples(
            st.just("launch"), lengths, st.sampled_from((7, 7, 13)), st.sampled_from((-1, 8, 133))
        ),
        st.tuples(st.just("copy"), lengths, st.booleans()),
        st.tuples(st.just("wait")),
        st.tuples(st.just("work"), st.integers(1, 2000)),
    )
    body = draw(st.lists(actions, max_size=8))
    for _ in range(draw(st.integers(1, 6))):
        with machine.step():
            # Every step launches something, for a step without GPU work is none.
            machine.launch("gemm", draw(lengths))
            for action in body:
                match action:
                    case ("launch", us, stream, grid):
                        machine.launch(f"k{us % 3}", us, stream=stream, grid=grid)
                    case ("copy", us, pageable):
                        machine.copy(us, pageable=pageable)
                    case ("work", us):
                        machine.work(us * draw(st.sampled_from((1, 1, 1, 5))))
                    case _:
                        machine.wait()
    machine.wait()
    return machine.trace.build()
