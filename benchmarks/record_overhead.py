"""What recording costs a launch-bound step of PyTorch: tailwave's recorder, Kineto, nsys.

    python3 -m benchmarks.record_overhead --out benchmarks/results/record_overhead_h200.json

Two steps: 200 element-wise additions of 1,024 numbers, the least that PyTorch can do between two
launches; and the training of a small network (forward, backward, Adam parameter by parameter).
Every figure comes from a fresh process, forked before CUDA is up and brought under the recorder as
``tailwave record`` does it. The ways take turns, in an order that is turned round each round, and
each is compared with the plain process of its own round. A step ends with a synchronize. "kernels
alone" is CUPTI's recording of kernels and nothing else, for what no recorder that times kernels
through CUPTI can do without; "kernels and launches" adds the calls that launch, switched on alone,
which saves CUPTI the others. Where nsys runs, it runs this file with ``--plain``.
"""

from __future__ import annotations

import argparse
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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from benchmarks.provenance import provenance
from tailwave.hook.recording import library, start
from tailwave.hook.recording.cupti import DRIVER, KINDS, RUNTIME, Cupti
from tailwave.hook.recording.spool import Spool

WARM, TIMED = 15, 40
KINETO_TIMED = 20  # its buffers are decoded while the program runs on
ADDITIONS = 200
PATIENCE_S = 20.0

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


def timed(step: Step, count: int) -> float:
    """Return the median time of a step (us)."""
    torch.cuda.synchronize()
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e6


def measured(count: int = TIMED, under: Callable[[], Any] | None = None) -> dict[str, float]:
    """Time both steps in this process, within a context where one is given."""
    found = {}
    for name, make in STEPS.items():
        step = make()
        for _ in range(WARM):
            step()
        if under is None:
            found[name] = timed(step, count)
        else:
            with under():
                found[name] = timed(step, count)
    return found


def plain(folder: Path) -> dict[str, float]:
    """Time it without a recorder."""
    del folder
    return measured()


def record(folder: Path) -> dict[str, float]:
    """Time it under tailwave's recorder."""
    plan = folder / "plan.json"
    plan.write_text(json.dumps({"report": str(folder / "process")}), "utf-8")
    start.start(plan)
    return measured()


def kernels_alone(folder: Path) -> dict[str, float]:
    """Time it while CUPTI records kernels."""
    spool, cupti = Spool(folder / "kernels.records", lambda _: None), Cupti(library.find())
    cupti.hand_buffers(spool.give, spool.take)
    cupti.enable(KINDS["kernel"])
    spool.start()
    return measured()


def chosen_calls(folder: Path) -> dict[str, float]:
    """Time it while CUPTI records kernels, and calls that are switched on one by one."""
    spool, cupti = Spool(folder / "calls.records", lambda _: None), Cupti(library.find())
    cupti.hand_buffers(spool.give, spool.take)
    cupti.enable(KINDS["kernel"])
    for domain in (RUNTIME, DRIVER):
        for number, name in cupti.calls(domain).items():
            if "Launch" in name:
                cupti.switch_call(domain, number, on=True)
    spool.start()
    return measured()


def kineto(folder: Path) -> dict[str, float]:
    """Time it under torch.profiler."""
    del folder
    from torch.profiler import ProfilerActivity, profile  # noqa: PLC0415 - in its own process

    both = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    return measured(KINETO_TIMED, lambda: profile(activities=both))


WAYS: dict[str, Callable[[Path], dict[str, float]]] = {
    "plain": plain,
    "record": record,
    "kernels alone": kernels_alone,
    "kernels and launches": chosen_calls,
    "kineto": kineto,
}


def forked(way: str, folder: Path) -> dict[str, float]:
    """Measure one way in a child; nothing when it does not answer."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, json.dumps(WAYS[way](folder)).encode())
        except Exception:  # noqa: BLE001 - the child must not go on as its parent
            traceback.print_exc()
        os.kill(os.getpid(), signal.SIGKILL)  # its end is not what is measured
    os.close(writing)
    answered = select.select([reading], [], [], PATIENCE_S)[0]
    answer = os.read(reading, 1 << 16) if answered else b""
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reading)
    return dict(json.loads(answer)) if answer else {}


def nsys(folder: Path) -> dict[str, float] | str:
    """Measure under nsys; the reason where it does not run."""
    program = shutil.which("nsys")
    if program is None:
        return "nsys is not installed here"
    command = [program, "profile", "-t", "cuda,nvtx", "-o", str(folder / "nsys")]
    command += [sys.executable, "-m", "benchmarks.record_overhead", "--plain"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return dict(json.loads(lines[-1])) if lines else f"nsys failed: {done.stderr.strip()[-200:]}"


def summary(runs: dict[str, list[dict[str, float]]], way: str, step: str) -> dict[str, float]:
    """Return a way's median step (us), and by how much it exceeds the plain one of its round."""
    pairs = [
        (run[step], bare[step])
        for run, bare in zip(runs[way], runs["plain"], strict=True)
        if step in run and step in bare
    ]
    if not pairs:
        return {"rounds": 0}
    more = sorted(of / bare - 1 for of, bare in pairs)
    return {
        "us": round(statistics.median(of for of, _ in pairs), 1),
        "overhead": round(statistics.median(more), 4),
        "least": round(more[0], 4),
        "most": round(more[-1], 4),
        "rounds": len(pairs),
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=False)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--plain", action="store_true", help="measure this process, print JSON")
    options = parser.parse_args()
    if options.plain:
        print(json.dumps(measured()))
        return
    runs: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.rounds):
            for way in list(WAYS)[:: 1 if number % 2 == 0 else -1]:
                runs[way].append(forked(way, Path(folder)))
                print(number, way, runs[way][-1], flush=True)
        by_nsys = nsys(Path(folder))
    document = {
        **provenance(),
        "torch": torch.__version__,
        "steps": {s: {way: summary(runs, way, s) for way in WAYS} for s in STEPS},
        "nsys": by_nsys,
        "runs": runs,
    }
    print(json.dumps({key: document[key] for key in ("steps", "nsys")}, indent=1))
    if options.out is not None:
        options.out.write_text(json.dumps(document, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
