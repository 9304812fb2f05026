"""What each call of the CUDA backend does on a real GPU: one line a figure, or the reason why not.

    python benchmarks/cuda_backend.py

A quick look at the backend by itself, without the probes' statistics: medians of a few runs. What
an H200 answered is kept in `results/cuda_backend_h200.txt`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from tailwave.gpu.devices import open_device
from tailwave.gpu.devices.base import Buffer, Device, Feature, Graph, Launch, Stream, Words

_EMPTY = Launch("empty", 1, 32)
_LINE_WORDS = 16
_MIB_WORDS = 1 << 17


class Bench:
    """The device, a stream, and the masks that kernels want."""

    def __init__(self, device: Device) -> None:
        """Take an opened device."""
        self.device = device
        self.sms = device.facts.sm_count
        self.stream = device.stream()

    def run(self, kernel: str, block: int, *args: object, shared: int = -1) -> None:
        """Launch with one CTA an SM, and wait."""
        launch = Launch(kernel, self.sms, block, args, shared)
        self.device.launch(self.stream, launch)
        self.device.synchronize(self.stream)

    def mask(self, *sms: int) -> Buffer:
        """Make a buffer with a 1 for each SM named."""
        return self.roles(dict.fromkeys(sms, 1))

    def roles(self, roles: dict[int, int]) -> Buffer:
        """Make a buffer with a role for each SM."""
        words = np.zeros(self.sms, dtype=np.uint64)
        for sm, role in roles.items():
            words[sm] = role
        return self.filled(words)

    def filled(self, words: Words) -> Buffer:
        """Make a buffer with these words."""
        buffer = self.device.buffer(len(words))
        buffer.write(words)
        return buffer

    def held_us(self, work: Callable[[], object], times: int = 20) -> float:
        """Return the median time that some work holds the host (us)."""
        samples = []
        for _ in range(times):
            start = time.perf_counter_ns()
            work()
            samples.append((time.perf_counter_ns() - start) / 1000)
        return statistics.median(samples)


def main() -> None:
    """Print a line a figure."""
    bench = Bench(open_device(""))
    facts = bench.device.facts
    print(f"{facts.name}, {facts.sm_count} SMs, driver {facts.driver}, made for {facts.runtime}")
    for feature in sorted(set(Feature) - bench.device.features):
        print(f"no {feature}: {bench.device.why_not(feature)}")
    for look in LOOKS:
        try:
            for line in look(bench):
                print(f"{look.__name__.strip('_'):12} {line}", flush=True)
        except Exception as error:  # noqa: BLE001 - one that fails must not hide the others
            print(f"{look.__name__.strip('_'):12} {type(error).__name__}: {error}", flush=True)
    bench.device.close()


def _launches(bench: Bench) -> Iterator[str]:
    device, stream = bench.device, bench.stream

    def queue(count: int) -> None:
        for _ in range(count):
            device.launch(stream, _EMPTY)

    def finished(count: int) -> None:
        queue(count)
        device.synchronize(stream)

    finished(1000)
    yield f"launch + synchronize {bench.held_us(lambda: finished(1), 200):.2f} us"
    long, short = bench.held_us(lambda: finished(128)), bench.held_us(lambda: finished(1))
    yield f"back to back {(long - short) / 127:.2f} us"
    for count in (1, 64):
        launch = Launch(f"arguments_{count}", 1, 32, tuple(range(count)))
        device.launch(stream, launch)
        held = bench.held_us(partial(device.launch, stream, launch), 200)
        device.synchronize(stream)
        yield f"enqueue with {count} arguments {held:.2f} us"


def _graphs(bench: Bench) -> Iterator[str]:
    device, stream = bench.device, bench.stream
    many, one = device.graph([_EMPTY] * 1001), device.graph([_EMPTY])

    def run(graph: Graph) -> None:
        graph.launch(stream)
        device.synchronize(stream)

    run(many)
    node = (bench.held_us(lambda: run(many)) - bench.held_us(lambda: run(one))) / 1000
    yield f"graph node {node:.3f} us"


def _dispatch(bench: Bench) -> Iterator[str]:
    def grid(ctas: int) -> float:
        def work() -> None:
            bench.device.launch(bench.stream, Launch("empty", ctas, 32))
            bench.device.synchronize(bench.stream)

        return bench.held_us(work)

    small, large = 132_000, 1_320_000
    yield f"{(grid(large) - grid(small)) / (large - small) * 1000:.4f} ns per CTA"
    out = bench.device.buffer(4 * 16 * bench.sms)
    launch = Launch("stamp", 16 * bench.sms, 32, (out, 8000), -1)
    bench.device.launch(bench.stream, launch)
    rows = out.read().reshape(-1, 4).astype(np.int64)
    order = np.lexsort((rows[:, 1], rows[:, 0]))
    rows = rows[order]
    same = np.diff(rows[:, 0]) == 0
    gaps = (rows[1:, 1] - rows[:-1, 2])[same]
    yield f"refill gap mean {gaps.mean():.0f} ns, SMs {len(np.unique(rows[:, 0]))}, of {len(rows)}"


def _time(bench: Bench) -> Iterator[str]:
    out = bench.device.buffer(64)
    bench.device.launch(bench.stream, Launch("tick", 1, 32, (out, 64)))
    steps = np.diff(out.read().astype(np.int64))
    yield f"tick {steps.min()} to {steps.max()} ns"
    for _ in range(3):
        bench.device.launch(bench.stream, Launch("spin", 1, 32, (out, 500_000)))
        _, start, end, cycles = (int(word) for word in out.read()[:4])
        yield f"clock {cycles / (end - start) * 1000:.1f} MHz"


def _smids(bench: Bench) -> Iterator[str]:
    out = bench.device.buffer(bench.sms)
    bench.run("smids", 32, out)
    yield f"{len(np.unique(out.read()))} SMs in one launch"


def _issue(bench: Bench) -> Iterator[str]:
    for kind, name, count in (
        (0, "independent", 4096),
        (1, "dependent", 4096),
        (3, "barrier", 512),
    ):
        for block in (128, 256, 512, 1024):
            cycles = _issue_cycles(bench, block, kind, count) / count
            slots = block / 128 / cycles
            yield f"{name} {block} threads: {cycles:.3f} cycles, {slots:.3f} issued/clk/scheduler"
    yield f"nanosleep(100) {_issue_cycles(bench, 128, 2, 64) / 64:.0f} cycles"


def _issue_cycles(bench: Bench, block: int, kind: int, count: int) -> float:
    out = bench.device.buffer(3 * bench.sms)
    bench.run("issue", block, out, kind, count)
    rows = out.read().reshape(-1, 3)
    return float(np.median(rows[:, 2] - rows[:, 1]))


def _banks(bench: Bench) -> Iterator[str]:
    out = bench.device.buffer(2)
    for mode, name in enumerate(("loads", "stores", "padded", "swizzled")):
        found = []
        for stride in (1, 2, 4, 8, 16, 32):
            launch = Launch("banks", 1, 32, (out, stride, 512, mode))
            bench.device.launch(bench.stream, launch)
            found.append(int(out.read()[1]) / 512)
        yield f"{name} {' '.join(f'{cycles:.1f}' for cycles in found)} cycles at 1 2 4 .. 32"


def _chase(bench: Bench) -> Iterator[str]:
    lines = 256
    data, out = bench.device.buffer(lines * _LINE_WORDS), bench.device.buffer(lines)
    start = time.perf_counter()
    rows = []
    for sm in range(bench.sms):
        bench.run("chase", 32, out, data, lines, 64, sm)
        rows.append(out.read())
    took = time.perf_counter() - start
    matrix = np.array(rows)
    yield f"{matrix.min()} to {matrix.max()}, mean {matrix.mean():.1f} cycles, in {took:.2f} s"


def _stream(bench: Bench) -> Iterator[str]:
    for kernel in ("read", "write"):
        for mib, sms in (
            (16, [0]),
            (16, [0, 1]),
            (16, list(range(0, 32, 2))),
            (16, range(bench.sms)),
        ):
            yield f"{kernel} {mib} MiB, {len(sms)} SMs: {_rate(bench, kernel, mib, list(sms))}"
    yield f"read 1 MiB, 1 SM: {_rate(bench, 'read', 1, [0])}"
    yield f"read 512 MiB, all SMs: {_rate(bench, 'read', 512, list(range(bench.sms)))}"


def _rate(bench: Bench, kernel: str, mib: int, sms: list[int]) -> str:
    words = mib * _MIB_WORDS
    data, out, mask = (
        bench.device.buffer(words),
        bench.device.buffer(4 * bench.sms),
        bench.mask(*sms),
    )
    best = (0.0, 0.0, 0)
    for _ in range(4):
        bench.run(kernel, 1024, out, data, words, 2, mask)
        rows = out.read().reshape(-1, 4)[sms].astype(np.int64)
        total = rows[:, 0].sum()
        span = rows[:, 2].max() - rows[:, 1].min()
        spread = int(rows[:, 1].max() - rows[:, 1].min())
        per_sm = float(np.median(rows[:, 0] / rows[:, 3]))
        best = max(best, (total / span, per_sm, spread))
    for buffer in (data, out, mask):
        buffer.free()
    return f"{best[0]:.0f} GB/s, {best[1]:.1f} B/clk/SM, starts within {best[2]} ns"


def _loaded(bench: Bench) -> Iterator[str]:
    words, samples = 16 * _MIB_WORDS, 2000
    data, out = bench.device.buffer(words), bench.device.buffer(samples + 1)
    for count in (0, 1, 8, 32, bench.sms - 1):
        roles = bench.roles({0: 2, **dict.fromkeys(range(1, count + 1), 1)})
        out.write(np.zeros(samples + 1, dtype=np.uint64))
        start = time.perf_counter()
        bench.run("loaded", 1024, out, data, words, samples, roles)
        took = (time.perf_counter() - start) * 1000
        found = out.read()
        p50, p99 = np.percentile(found[:samples], [50, 99])
        line = f"{count} asked, {found[samples]} ran: p50 {p50:.0f} p99 {p99:.0f} cycles"
        yield f"{line}, {took:.2f} ms"


def _atomics(bench: Bench) -> Iterator[str]:
    data, out = bench.device.buffer(bench.sms * 512), bench.device.buffer(4 * bench.sms)
    mask = bench.mask(*range(bench.sms))
    for stride in (0, 8, 32, 128, 4096):
        data.write(np.zeros(data.words, dtype=np.uint64))
        bench.run("atomics", 256, out, data, stride, 1000, mask)
        rows = out.read().reshape(-1, 4).astype(np.int64)
        rate = rows[:, 0].sum() / (rows[:, 2].max() - rows[:, 1].min())
        right = int(data.read().sum()) == bench.sms * 1000 * 256
        yield f"stride {stride}: {rate:.1f} G thread-operations/s, sum right: {right}"


def _meeting(bench: Bench) -> Iterator[str]:
    flag, out = bench.device.buffer(32), bench.device.buffer(200)
    for other in (1, 2, 16, 64, 131):
        bench.run("pingpong", 32, out, flag, 200, 0, other)
        yield f"round trip of 0 and {other}: {int(out.read()[0]) / 200:.0f} cycles"
    out.write(np.zeros(200, dtype=np.uint64))
    start = time.perf_counter()
    bench.run("pingpong", 32, out, flag, 200, 0, 10_000)
    yield f"partner that is not there: {out.read()[0]}, {time.perf_counter() - start:.3f} s"
    flag.write(np.zeros(32, dtype=np.uint64))
    for count in (1, 16, bench.sms - 1):
        mask = bench.mask(*range(count + 1))
        bench.run("poll", 32, out, flag, 200, 0, mask)
        found = out.read()
        yield f"{count} pollers: median {np.median(found):.0f} ns, {(found == 0).sum()} unseen"
    yield f"flag is 0 again: {not flag.read().any()}"


def _clusters(bench: Bench) -> Iterator[str]:
    for size in (2, 4, 8, 16):
        grid = bench.sms // size * size
        out = bench.device.buffer(4 * grid)
        bench.device.launch(bench.stream, Launch("stamp", grid, 32, (out, 2000), -1, size))
        groups = {tuple(sorted(row)) for row in out.read()[::4].reshape(-1, size).tolist()}
        yield f"clusters of {size}: {len(groups)} places, first {min(groups)}"


def _partition(bench: Bench) -> Iterator[str]:
    for asked in ((32,), (8,) * 15, (32, 64), (40, 16, 8), (3,)):
        start = time.perf_counter()
        with bench.device.partition(asked) as streams:
            took = (time.perf_counter() - start) * 1000
            seen = [_sms_of(bench, stream) for stream in streams]
            disjoint = sum(map(len, seen)) == len(set().union(*seen))
            sizes = [stream.sm_count for stream in streams]
            counts = [len(sms) for sms in seen]
            yield f"{asked}: {sizes}, seen {counts}, disjoint {disjoint}, {took:.1f} ms"


def _sms_of(bench: Bench, stream: Stream) -> set[int]:
    out = bench.device.buffer(4 * 1000)
    bench.device.launch(stream, Launch("stamp", 1000, 32, (out, 5000), -1))
    return set(out.read()[::4].tolist())


def _contexts(bench: Bench) -> Iterator[str]:
    device = bench.device
    free = device.free_bytes()
    start = time.perf_counter()
    with device.create_context() as stream:
        took = (time.perf_counter() - start) * 1000
        used = free - device.free_bytes()
        device.launch(stream, _EMPTY)
        device.synchronize(stream)
        yield f"made in {took:.1f} ms, {used / 2**20:.0f} MiB"
        out = device.buffer(4)
        device.launch(stream, Launch("spin", 1, 32, (out, 1000)))
        device.synchronize(stream)
        yield f"writes to a buffer of the first context: {out.read()[3]} cycles"
    yield f"free again {device.free_bytes() - free} bytes"


def _copies(bench: Bench) -> Iterator[str]:
    size = 256 << 20
    for pinned in (True, False):
        for to_device in (True, False):

            def work(pinned: bool = pinned, to_device: bool = to_device) -> None:  # noqa: FBT001
                bench.device.copy(bench.stream, size, to_device=to_device, pinned=pinned)
                bench.device.synchronize(bench.stream)

            work()
            rate = size / bench.held_us(work, 5) / 1000
            yield f"pinned {pinned}, to device {to_device}: {rate:.1f} GB/s"
    yield str(bench.device.link())


def _managed(bench: Bench) -> Iterator[str]:
    with bench.device.managed(64 << 20) as memory:
        memory.touch_on_host()

        def touch() -> None:
            memory.touch_on_device(bench.stream)
            bench.device.synchronize(bench.stream)

        yield f"first touch on the device {bench.held_us(touch, 1):.0f} us"
        yield f"second {bench.held_us(touch, 1):.0f} us"
        memory.touch_on_host()
        memory.prefetch(bench.stream, to_device=True)
        bench.device.synchronize(bench.stream)
        yield f"after a prefetch {bench.held_us(touch, 1):.0f} us"
        memory.advise_preferred_device()
        memory.prefetch(bench.stream, to_device=False)
        bench.device.synchronize(bench.stream)


def _memory(bench: Bench) -> Iterator[str]:
    yield f"free {bench.device.free_bytes() / 2**30:.1f} GiB"
    taken = bench.held_us(lambda: bench.device.buffer(4).free())
    yield f"a buffer taken and given in {taken:.1f} us"
    buffer = bench.device.buffer(4)
    yield f"read in {bench.held_us(buffer.read):.1f} us"
    try:
        bench.device.buffer(1 << 40)
    except Exception as error:  # noqa: BLE001 - its kind is what is shown
        yield f"too much: {type(error).__name__}: {error}"


LOOKS: tuple[Callable[[Bench], Iterator[str]], ...] = (
    _time,
    _launches,
    _graphs,
    _memory,
    _dispatch,
    _smids,
    _issue,
    _banks,
    _chase,
    _stream,
    _loaded,
    _atomics,
    _meeting,
    _clusters,
    _partition,
    _contexts,
    _copies,
    _managed,
)

if __name__ == "__main__":
    main()
