"""Time and memory of a long trace's diagnosis, against json.loads and HolisticTraceAnalysis.

The trace is a shipped recording repeated to 1.3 million events (about 370 MB), kept in ``.bench``,
plain and compressed. Each reader runs in a process of its own; its imports are not counted. The
ratio is of processor time, which other work on the machine changes less. Set HTA_PYTHON to the
Python of an environment that has HolisticTraceAnalysis to have it measured too.
"""

from __future__ import annotations

import gzip
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
SHORT = ROOT / "tests" / "data" / "traces" / "train_b8.eager.json.gz"
BENCH = ROOT / ".bench"
COPIES = 120
GOAL_RATIO = 0.45  # of the time of json.loads, for the whole diagnosis
GOAL_MB = 400
_BEST_OF = 3
# Ids that link events to each other, which every copy must have its own of.
_IDS = ("correlation", "External id")
_ID_STEP = 100_000
_STEP_PREFIX = "ProfilerStep#"

_MEASURE = """
import json, resource, sys, time
{}
def processor():
    who = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, who))
begin, worked = time.perf_counter(), processor()
{}
seconds, cpu = time.perf_counter() - begin, processor() - worked
with open("/proc/self/status") as status:
    own = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
peak = max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
print(json.dumps({{"seconds": seconds, "cpu": cpu, "megabytes": peak / 1024}}))
"""
# The imports of each reader, and what it does to the trace.
_JSON = "", "tree = json.loads(open(sys.argv[1], 'rb').read())"
_UNZIP = (
    "import gzip",
    "packed = gzip.open(sys.argv[1])\nwhile packed.read(1 << 20): pass",
)
_TAILWAVE = (
    "from pathlib import Path; from tailwave.recordings.readers import read",
    "timelines = read(Path(sys.argv[1]))",
)
DIAGNOSE = (
    "from tailwave.cli import run",
    "assert run(['diagnose', '--json', sys.argv[1]]) == 0",
)
_HTA = (
    "from hta.trace_analysis import TraceAnalysis",
    "analysis = TraceAnalysis(trace_files={0: sys.argv[1]})",
)

Event = dict[str, Any]


class Cost(NamedTuple):
    """What one reader needed: the best times of several runs, and its peak memory."""

    seconds: float
    cpu: float
    megabytes: float


def main() -> None:
    """Print the table; fail when a goal is missed."""
    trace = big_trace()
    packed = compressed(trace)
    print(f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {machine()}")
    print(f"{megabytes(trace)}, {megabytes(packed)}")
    print(f"{'':32}{'seconds':>10}{'CPU s':>10}{'peak MB':>10}{'of json.loads':>16}")
    plain = measure(sys.executable, _JSON, trace, _BEST_OF)
    print(row("json.loads", plain, plain))
    for name, work, path in (
        ("tailwave reads", _TAILWAVE, trace),
        ("tailwave reads the .gz", _TAILWAVE, packed),
        ("  of which zlib alone", _UNZIP, packed),
    ):
        print(row(name, measure(sys.executable, work, path, _BEST_OF), plain))
    ours = measure(sys.executable, DIAGNOSE, trace, _BEST_OF)
    print(row("tailwave diagnose --json", ours, plain))
    print(_hta_row(trace, plain))
    ratio = ours.cpu / plain.cpu
    if ratio > GOAL_RATIO or ours.megabytes > GOAL_MB:
        raise SystemExit(
            f"too slow or too large: {ratio:.2f} of json.loads' time (goal {GOAL_RATIO}), "
            f"{ours.megabytes:.0f} MB (goal {GOAL_MB})"
        )


def big_trace() -> Path:
    """Return the path of the long trace, making it when it is not there."""
    path = BENCH / f"train{COPIES}.json"
    if not path.exists():
        BENCH.mkdir(exist_ok=True)
        unfinished = path.with_suffix(".part")
        with unfinished.open("w", encoding="utf-8") as out:
            out.writelines(_long_text(json.loads(gzip.decompress(SHORT.read_bytes()))))
        unfinished.rename(path)
    return path


def compressed(trace: Path) -> Path:
    """Return the path of the trace's compressed copy, making it when it is not there."""
    path = trace.with_suffix(".json.gz")
    if not path.exists():
        unfinished = path.with_suffix(".part")
        with trace.open("rb") as source, gzip.open(unfinished, "wb", compresslevel=6) as out:
            shutil.copyfileobj(source, out, 1 << 20)
        unfinished.rename(path)
    return path


def machine() -> str:
    """Name the processor and the system."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    models = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.machine()
    return f"{os.cpu_count()} x {model}, {platform.system()} {platform.release()}"


def megabytes(path: Path) -> str:
    """Name a file with its size."""
    return f"{path.name} {path.stat().st_size / 1e6:.0f} MB"


def measure(python: str, work: tuple[str, str], trace: Path, times: int) -> Cost:
    """Run a reader several times, each in a fresh process."""
    command = [python, "-c", _MEASURE.format(*work), str(trace)]
    costs = []
    for _ in range(times):
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        costs.append(Cost(**json.loads(done.stdout.splitlines()[-1])))
    return Cost(
        min(cost.seconds for cost in costs),
        min(cost.cpu for cost in costs),
        max(cost.megabytes for cost in costs),
    )


def row(name: str, cost: Cost, plain: Cost) -> str:
    """Format one line of the table."""
    figures = f"{cost.seconds:>10.2f}{cost.cpu:>10.2f}{cost.megabytes:>10.0f}"
    return f"{name:32}{figures}{cost.cpu / plain.cpu:>16.2f}"


def _hta_row(trace: Path, plain: Cost) -> str:
    name = "HolisticTraceAnalysis"
    python = os.environ.get("HTA_PYTHON")
    if python is None:
        return f"{name:32}not measured: HTA_PYTHON is not set"
    try:
        return row(name, measure(python, _HTA, trace, times=1), plain)
    except subprocess.CalledProcessError as error:
        reason = error.stderr.strip().splitlines() or ["no reason given"]
        return f"{name:32}failed: {reason[-1]}"
    except OSError as error:
        return f"{name:32}not measured: {error}"


def _long_text(trace: dict[str, Any]) -> Iterator[str]:
    """Write the trace with its events repeated one copy after the other, as Kineto lays it out."""
    events: list[Event] = trace.pop("traceEvents")
    timed = [event for event in events if event["ph"] == "X"]
    first = min(event["ts"] for event in timed)
    span = max(event["ts"] + event["dur"] for event in timed) - first + 1000
    yield json.dumps(trace, indent=1)[:-2] + ',\n "traceEvents": [\n'
    separator = ""
    for copy in range(COPIES):
        for event in events:
            if event["ph"] != "M" or copy == 0:
                text = json.dumps(_shifted(event, copy, span), indent=2)
                yield separator + "  " + text.replace("\n", "\n  ")
                separator = ",\n"
    yield "\n ]\n}\n"


def _shifted(event: Event, copy: int, span: float) -> Event:
    """Move an event to its copy's time, with ids of its own, so that each copy makes sense."""
    moved = dict(event)
    if "ts" in event:
        moved["ts"] = round(event["ts"] + copy * span, 3)
    if "args" in event:
        shift = copy * _ID_STEP
        moved["args"] = {k: v + shift if k in _IDS else v for k, v in event["args"].items()}
    if isinstance(event.get("id"), int):
        moved["id"] = event["id"] + copy * _ID_STEP
    if event.get("name", "").startswith(_STEP_PREFIX):
        number = int(event["name"].removeprefix(_STEP_PREFIX))
        moved["name"] = f"{_STEP_PREFIX}{number + copy * 10}"
    return moved


if __name__ == "__main__":
    main()
