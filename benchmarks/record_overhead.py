"""What recording costs a launch-bound step of PyTorch: tailwave's recorder, Kineto, nsys.

    python3 -m benchmarks.record_overhead --out benchmarks/results/record_overhead_h200.json

Two steps: 200 element-wise additions of 1,024 numbers, the least that PyTorch can do between two
launches; and the training of a small network (forward, backward, Adam parameter by parameter).
A step ends with a synchronize.

A shared host gives one process a core twice as fast as another's, so processes are not compared.
Each runs, on one core, blocks of steps before anything is attached, and then blocks with its
recorder on and off in turn:

- ``overhead``: on against before. What the program pays.
- ``switched``: on against the blocks off beside it. What recording itself takes.
- ``attached``: off against before. What CUPTI takes while it is attached and all is off.

A process's figures are ratios of medians (``switched``: the median of ratios), a way's the medians
of its processes'. The way "nothing" says how far equal blocks differ.

"record" is what ``tailwave record`` switches on. "kernels" is CUPTI's recording of kernels and
nothing else, which no recorder that times kernels can do without.
Where nsys runs, it runs this file with ``--plain``.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import itertools
import json
import os
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

import torch
from torch import nn

from benchmarks.provenance import provenance
from tailwave.cures.hook.recording import library
from tailwave.cures.hook.recording.cupti import (
    ACTIVITIES,
    DRIVER,
    KINDS,
    RUNTIME,
    Cupti,
    is_recorded,
)
from tailwave.cures.hook.recording.spool import Block, Spool

WARM = 15
WARM_S = 0.7
PAIRS = 8  # of blocks with the recorder on and off
BLOCK_S = 0.04  # of steps
ADDITIONS = 200
PATIENCE_S = 30.0
QUEUED = 120  # where a kernel's record has the time at which it was queued

Step = Callable[[], object]


def additions() -> Step:
    """Make the step that does nothing but launch."""
    numbers = torch.ones(1024, device="cuda")

    def step() -> None:
        result = numbers
        for _ in range(ADDITIONS):
            result = result + 1.0

    return step


def training() -> Step:
    """Make the step that trains a network of 12 small layers: some 700 launches."""
    layers = [
        layer for _ in range(12) for layer in (nn.Linear(256, 256), nn.LayerNorm(256), nn.GELU())
    ]
    model = nn.Sequential(*layers).cuda()
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    batch = torch.randn(32, 256, device="cuda")

    def step() -> None:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()

    return step


STEPS: dict[str, Callable[[], Step]] = {"additions": additions, "training": training}


class Recorder(Protocol):
    """What can be switched on and off between two blocks."""

    def attach(self, folder: Path) -> None:
        """Get ready, switched off."""

    def on(self) -> None:
        """Record."""

    def off(self) -> None:
        """Record nothing."""


class Nothing:
    """The control."""

    def attach(self, folder: Path) -> None:
        """Do nothing."""

    def on(self) -> None:
        """Do nothing."""

    def off(self) -> None:
        """Do nothing."""


@functools.cache
def calls_of(cupti: Cupti, domain: int) -> tuple[tuple[int, str], ...]:
    """Return the calls of a domain: asking for their names takes a while."""
    return tuple(cupti.calls(domain).items())


class Activities:
    """CUPTI's recording of some kinds, as the recorder has it: buffers, a thread that writes.

    Of the calls only the recorder's choice is recorded. With ``latency`` kernels have the times at
    which they were queued and submitted, which calls would tell otherwise.
    """

    def __init__(self, *kinds: str, latency: bool = False) -> None:
        """Record these kinds."""
        self._kinds, self._latency = kinds, latency
        self.seen: Counter[int] = Counter()

    def attach(self, folder: Path) -> None:
        """Attach as the recorder does, if later than it: all on, and off again."""
        self._cupti = Cupti(library.find())
        self._library = ctypes.CDLL(str(self._cupti.path))
        spool = Spool(folder / f"{os.getpid()}.records", self._count)
        self._cupti.set_up()
        self._cupti.hand_buffers(spool.give, spool.take)
        if self._latency:
            self._library.cuptiActivityEnableLatencyTimestamps(ctypes.c_uint8(1))
        self._cupti.flush_each(1000)
        spool.start()
        self.on()
        self.off()

    def on(self) -> None:
        """Switch the kinds on."""
        for kind in self._kinds:
            self._cupti.enable(KINDS[kind])
        for domain, kind in ((RUNTIME, "runtime"), (DRIVER, "driver")):
            if kind in self._kinds:
                for number, name in calls_of(self._cupti, domain):
                    if not is_recorded(name):
                        self._cupti.switch_call(domain, number, on=False)

    def off(self) -> None:
        """Switch them off."""
        for kind in self._kinds:
            self._library.cuptiActivityDisable(KINDS[kind])

    def _count(self, block: Block) -> None:
        """Count the records of the first block by kind, before it is written."""
        if self.seen:
            return
        record, start = 0, block.buffer.address
        while record := self._cupti.next_record(start, block.valid, record):
            kind = ctypes.c_uint32.from_address(record).value
            self.seen[kind] += 1
            if kind == KINDS["kernel"] and ctypes.c_uint64.from_address(record + QUEUED).value:
                self.seen[-QUEUED] += 1


class Kineto:
    """torch.profiler with CPU and CUDA activities."""

    def attach(self, folder: Path) -> None:
        """Get ready: the first profiler takes seconds."""
        del folder
        self.on()
        self.off()

    def on(self) -> None:
        """Begin a profile."""
        from torch.profiler import ProfilerActivity, profile  # noqa: PLC0415 - in its own process

        self._profile = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
        self._profile.start()

    def off(self) -> None:
        """End it."""
        self._profile.stop()


WAYS: dict[str, Callable[[], Recorder]] = {
    "nothing": Nothing,
    "kernels": lambda: Activities("kernel"),
    "kernels and when they were queued": lambda: Activities("kernel", latency=True),
    "record": lambda: Activities(*ACTIVITIES),
    "kineto": Kineto,
}


class Measured(NamedTuple):
    """A step in one process: its time before (us), and by how much more it takes later.

    ``calls`` is how many calls were recorded for each kernel, and ``queued`` the share of kernels
    that have the time at which they were queued; both None where no record was looked at.
    """

    before_us: float
    overhead: float
    switched: float
    attached: float
    calls: float | None
    queued: float | None


def block(step: Step, count: int) -> float:
    """Return the mean time of a step (us) in a block of so many."""
    begin = time.perf_counter()
    for _ in range(count):
        step()
        torch.cuda.synchronize()
    return (time.perf_counter() - begin) / count * 1e6


def measured(step: Step, recorder: Recorder, folder: Path, core: int) -> Measured:
    """Measure a step before the recorder is attached, and with it on and off in turn."""
    everywhere = os.sched_getaffinity(0)
    step()
    os.sched_setaffinity(0, {core})  # this thread alone: those of CUDA are there
    end = time.perf_counter() + WARM_S
    while time.perf_counter() < end:
        taken = block(step, WARM)
    count = max(1, round(BLOCK_S * 1e6 / taken))
    before = [block(step, count) for _ in range(PAIRS)]
    os.sched_setaffinity(0, everywhere)  # else the recorder's threads would share the core
    recorder.attach(folder)
    os.sched_setaffinity(0, {core})
    off, on = [block(step, count)], []
    for _ in range(PAIRS):
        recorder.on()
        step()
        on.append(block(step, count))
        recorder.off()
        step()
        off.append(block(step, count))
    beside = [(first + second) / 2 for first, second in itertools.pairwise(off)]
    plain = statistics.median(before)
    seen = recorder.seen if isinstance(recorder, Activities) else Counter()
    kernels, calls = seen[KINDS["kernel"]], seen[KINDS["runtime"]] + seen[KINDS["driver"]]
    return Measured(
        before_us=round(plain, 1),
        overhead=round(statistics.median(on) / plain - 1, 4),
        switched=round(statistics.median(a / b for a, b in zip(on, beside, strict=True)) - 1, 4),
        attached=round(statistics.median(off) / plain - 1, 4),
        calls=round(calls / kernels, 2) if kernels else None,
        queued=round(seen[-QUEUED] / kernels, 2) if kernels else None,
    )


def forked(way: str, step: str, folder: Path, core: int) -> Measured | None:
    """Measure one way on one step in a child; None when it does not answer."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            found = measured(STEPS[step](), WAYS[way](), folder, core)
            os.write(writing, json.dumps(found).encode())
        except Exception:  # noqa: BLE001 - the child must not go on as its parent
            traceback.print_exc()
        os.kill(os.getpid(), signal.SIGKILL)  # its end is not what is measured
    os.close(writing)
    answered = select.select([reading], [], [], PATIENCE_S)[0]
    answer = os.read(reading, 1 << 16) if answered else b""
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reading)
    return Measured(*json.loads(answer)) if answer else None


def nsys(folder: Path) -> str:
    """Measure under nsys; the reason where it does not run."""
    program = shutil.which("nsys")
    if program is None:
        return "nsys is not installed here"
    command = [program, "profile", "-t", "cuda,nvtx", "-o", str(folder / "nsys")]
    command += [sys.executable, "-m", "benchmarks.record_overhead", "--plain"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return lines[-1] if lines else f"nsys failed: {done.stderr.strip()[-200:]}"


def plain() -> dict[str, float]:
    """Time both steps in this process."""
    found = {}
    for name, make in STEPS.items():
        step = make()
        for _ in range(WARM):
            step()
        found[name] = statistics.median(block(step, WARM) for _ in range(PAIRS))
    return found


def summary(found: list[Measured]) -> dict[str, object]:
    """Return the medians of a way's processes, and the least and the most."""
    if not found:
        return {"processes": 0}
    overhead = sorted(one.overhead for one in found)
    return {
        "before_us": statistics.median(one.before_us for one in found),
        "overhead": round(statistics.median(overhead), 4),
        "least": overhead[0],
        "most": overhead[-1],
        "switched": round(statistics.median(one.switched for one in found), 4),
        "attached": round(statistics.median(one.attached for one in found), 4),
        "calls_a_kernel": next((one.calls for one in found if one.calls is not None), None),
        "queued": next((one.queued for one in found if one.queued is not None), None),
        "processes": len(found),
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=False)
    parser.add_argument("--processes", type=int, default=3, help="for each way and step")
    parser.add_argument("--plain", action="store_true", help="time this process, print JSON")
    options = parser.parse_args()
    if options.plain:
        print(json.dumps(plain()))
        return
    runs: dict[str, dict[str, list[Measured]]] = {s: {way: [] for way in WAYS} for s in STEPS}
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.processes):
            core = cores[-1 - 2 * number % len(cores)]
            for way in list(WAYS)[:: 1 if number % 2 == 0 else -1]:
                for step in STEPS:
                    found = forked(way, step, Path(folder), core)
                    runs[step][way] += [found] if found else []
                    print(number, way, step, found, flush=True)
            write(options.out, runs, "not reached")
        write(options.out, runs, nsys(Path(folder)))


def write(path: Path | None, runs: dict[str, dict[str, list[Measured]]], by_nsys: str) -> None:
    """Print what there is so far, and write it."""
    document = {
        **provenance(),
        "torch": torch.__version__,
        "steps": {s: {way: summary(runs[s][way]) for way in WAYS} for s in STEPS},
        "nsys": by_nsys,
        "runs": {s: {way: [one._asdict() for one in runs[s][way]] for way in WAYS} for s in STEPS},
    }
    print(json.dumps({key: document[key] for key in ("steps", "nsys")}, indent=1))
    if path is not None:
        path.write_text(json.dumps(document, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
