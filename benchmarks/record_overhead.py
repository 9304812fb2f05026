"""What recording costs a launch-bound step of PyTorch: tailwave's recorder, Kineto, nsys.

    python3 -m benchmarks.record_overhead --out benchmarks/results/record_overhead_h200.json

Two steps: 200 element-wise additions of 1,024 numbers, the least that PyTorch can do between two
launches; and the training of a small network (forward, backward, Adam parameter by parameter).
A step ends with a synchronize.

A shared host gives one process a core twice as fast as another's, so processes are not compared.
Each runs blocks of steps with its recorder on and off in turn, and a block is compared with those
beside it. A process's figure is the median of these ratios, a way's the median of its processes'
figures. "off" is CUPTI attached with nothing switched on; what that alone costs is told by the
blocks before it was attached ("attached"), where the way allows it to be attached so late. "off" of
the way "nothing" says how far two equal blocks differ.

"record" is what ``tailwave record`` switches on, as it does it: before CUDA is up. "kernels" is
CUPTI's recording of kernels and nothing else, which no recorder that times kernels can do without;
the ways between are what else could have been chosen.
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
from tailwave.hook.recording import library
from tailwave.hook.recording.cupti import DRIVER, KINDS, RUNTIME, Cupti
from tailwave.hook.recording.selection import ACTIVITIES, is_recorded
from tailwave.hook.recording.spool import Block, Spool

WARM = 15
PAIRS = 10  # of blocks with the recorder on and off
BLOCK_S = 0.04  # of steps
ADDITIONS = 200
PATIENCE_S = 30.0

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

    late: bool  # it can be attached after the first blocks

    def attach(self, folder: Path) -> None:
        """Get ready, switched off."""

    def on(self) -> None:
        """Record."""

    def off(self) -> None:
        """Record nothing."""


class Nothing:
    """The control."""

    late = True

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

    Of the calls of a kind only the recorder's choice is recorded where ``chosen``. ``single`` are
    domains whose chosen calls are switched on one by one, without their kind.
    """

    def __init__(
        self,
        *kinds: str,
        chosen: bool = True,
        single: tuple[int, ...] = (),
        late: bool = False,
    ) -> None:
        """Record these."""
        self._kinds, self._chosen, self._single, self.late = kinds, chosen, single, late
        self.seen: Counter[int] = Counter()

    def attach(self, folder: Path) -> None:
        """Hand buffers over, and start to write those that come back."""
        self._cupti = Cupti(library.find())
        self._library = ctypes.CDLL(str(self._cupti.path))
        spool = Spool(folder / f"{os.getpid()}.records", self._count)
        self._cupti.set_up()
        self._cupti.hand_buffers(spool.give, spool.take)
        self._cupti.flush_each(1000)
        spool.start()
        if not self.late:  # as the recorder itself: before CUDA is up
            self.on()
            self.off()

    def on(self) -> None:
        """Switch the kinds and the calls on."""
        for kind in self._kinds:
            self._cupti.enable(KINDS[kind])
        self._switch(wanted=True)

    def off(self) -> None:
        """Switch them off."""
        self._switch(wanted=False)
        for kind in self._kinds:
            self._library.cuptiActivityDisable(KINDS[kind])

    def _switch(self, *, wanted: bool) -> None:
        for domain, kind in ((RUNTIME, "runtime"), (DRIVER, "driver")):
            for number, name in calls_of(self._cupti, domain):
                if domain in self._single and is_recorded(name):
                    self._cupti.switch_call(domain, number, on=wanted)
                elif kind in self._kinds and self._chosen and not is_recorded(name) and wanted:
                    self._cupti.switch_call(domain, number, on=False)

    def _count(self, block: Block) -> None:
        """Count the records of the first block by kind, before it is written."""
        if self.seen:
            return
        record, start = 0, block.buffer.address
        while record := self._cupti.next_record(start, block.valid, record):
            self.seen[ctypes.c_uint32.from_address(record).value] += 1


class Kineto:
    """torch.profiler with CPU and CUDA activities."""

    late = True

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


ALL = tuple(kind for kind in ACTIVITIES if kind not in ("runtime", "driver"))
WAYS: dict[str, Callable[[], Recorder]] = {
    "nothing": Nothing,
    "kernels, attached late": lambda: Activities("kernel", late=True),
    "kernels": lambda: Activities("kernel"),
    "kernels, runtime": lambda: Activities("kernel", "runtime"),
    "kernels, both one by one": lambda: Activities("kernel", single=(RUNTIME, DRIVER)),
    "all, both one by one": lambda: Activities(*ALL, single=(RUNTIME, DRIVER)),
    "all, runtime, driver one by one": lambda: Activities(*ALL, "runtime", single=(DRIVER,)),
    "record": lambda: Activities(*ACTIVITIES),
    "record, all calls": lambda: Activities(*ACTIVITIES, chosen=False),
    "kineto": Kineto,
}


class Measured(NamedTuple):
    """A step in one process: its time (us) off, by how much more it takes on, and attached.

    ``calls`` is how many calls were recorded for each kernel, None where none was looked at.
    """

    us: float
    on: float
    attached: float | None
    calls: float | None


def block(step: Step, count: int) -> float:
    """Return the mean time of a step (us) in a block of so many."""
    begin = time.perf_counter()
    for _ in range(count):
        step()
        torch.cuda.synchronize()
    return (time.perf_counter() - begin) / count * 1e6


def measured(step: Step, recorder: Recorder, folder: Path) -> Measured:
    """Measure a step with the recorder on and off in turn."""
    for _ in range(WARM):
        step()
    torch.cuda.synchronize()
    count = max(1, round(BLOCK_S * 1e6 / block(step, WARM)))
    before = [block(step, count) for _ in range(PAIRS)]
    if recorder.late:
        recorder.attach(folder)
    off, on = [block(step, count)], []
    for _ in range(PAIRS):
        recorder.on()
        step()
        on.append(block(step, count))
        recorder.off()
        step()
        off.append(block(step, count))
    beside = [(first + second) / 2 for first, second in itertools.pairwise(off)]
    level = statistics.median(off)
    return Measured(
        us=round(level, 1),
        on=round(statistics.median(a / b for a, b in zip(on, beside, strict=True)) - 1, 4),
        attached=round(level / statistics.median(before) - 1, 4) if recorder.late else None,
        calls=calls_each(recorder),
    )


def calls_each(recorder: Recorder) -> float | None:
    """Return how many calls a recorder has for each kernel."""
    seen = recorder.seen if isinstance(recorder, Activities) else Counter()
    kernels = seen[KINDS["kernel"]]
    calls = seen[KINDS["runtime"]] + seen[KINDS["driver"]]
    return round(calls / kernels, 2) if kernels else None


def forked(way: str, step: str, folder: Path) -> Measured | None:
    """Measure one way on one step in a child; None when it does not answer."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            recorder = WAYS[way]()
            if not recorder.late:
                recorder.attach(folder)
            os.write(writing, json.dumps(measured(STEPS[step](), recorder, folder)).encode())
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
    on = sorted(one.on for one in found)
    attached = [one.attached for one in found if one.attached is not None]
    return {
        "off_us": statistics.median(one.us for one in found),
        "overhead": round(statistics.median(on), 4),
        "least": on[0],
        "most": on[-1],
        "attached": round(statistics.median(attached), 4) if attached else None,
        "calls_a_kernel": next((one.calls for one in found if one.calls is not None), None),
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
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.processes):
            for way in list(WAYS)[:: 1 if number % 2 == 0 else -1]:
                for step in STEPS:
                    found = forked(way, step, Path(folder))
                    runs[step][way] += [found] if found else []
                    print(number, way, step, found, flush=True)
        by_nsys = nsys(Path(folder))
    document = {
        **provenance(),
        "torch": torch.__version__,
        "steps": {s: {way: summary(runs[s][way]) for way in WAYS} for s in STEPS},
        "nsys": by_nsys,
        "runs": runs,
    }
    print(json.dumps({key: document[key] for key in ("steps", "nsys")}, indent=1))
    if options.out is not None:
        options.out.write_text(json.dumps(document, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
