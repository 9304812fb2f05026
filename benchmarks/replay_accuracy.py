"""Compares what the replay predicts with what was measured, and writes the tables into the docs.

Run it from the repository's root; ``--write`` puts the tables into docs/replay.md. Recordings are
those of tests/data/traces (the constants were looked at there) and of benchmarks/results/recordings
(made later). Every measured time was taken without the profiler. How well the likely time meets
these is estimate_accuracy.py's.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tailwave.recordings.readers import read
from tailwave.recordings.replay.change import Change
from tailwave.recordings.replay.copy_changes import async_copy
from tailwave.recordings.replay.forecast import Forecast, forecast
from tailwave.recordings.replay.gpu_changes import grid, isolated, sm_count, spread
from tailwave.recordings.replay.host_changes import cuda_graph, fed, no_sync, unstretched
from tailwave.recordings.replay.waves import scaling
from tailwave.recordings.timeline.prepare import prepare

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "replay.md"
FOLDERS = (ROOT / "tests/data/traces", ROOT / "benchmarks/results/recordings")
SWEEP = ROOT / "tests/data/sm_sweep_ms.json"
# Of each kernel swept its CTAs, how many fit an SM, and whether it is persistent: of wave132 two
# CTAs fit an SM (it takes no longer on 80 SMs); the softmax has waves by the hundred.
SWEPT = {
    "wave132": (132.0, 2.0, 0),
    "softmax": (16_384.0, 1.0, 0),
    "gemm4096": (132.0, 1.0, 1),
}
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"

# Recordings of the first set whose cure was recorded too.
TWINS = {
    "syncs.item_each_layer.json.gz": "syncs.no_sync.json.gz",
    "input.starved_4ms.json.gz": "input.fed.json.gz",
    "h2d.pageable_serial.json.gz": "h2d.pinned_overlap.json.gz",
    "waves.grid_133.json.gz": "waves.grid_132.json.gz",
    "tenant.with_hog.json.gz": "tenant.alone.json.gz",
}
CURES: dict[str, tuple[str, Change]] = {
    "host-sync": ("no-sync", no_sync),
    "host-starved": ("no-input-stall", fed),
    "host-contention": ("no-contention", unstretched),
    "blocking-copy": ("async-copy", async_copy),
    "stream-interference": ("no-interference", isolated),
    "wave-tail": ("no-wave-tail", grid),
    "small-grid": ("no-small-grid", spread),
}


class Recording(NamedTuple):
    """One recording with what was measured beside it."""

    truth: dict[str, Any]
    forecast: Forecast

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return str(self.truth["file"]).removesuffix(".json.gz")

    @property
    def measured_us(self) -> float:
        """Time of a step without the profiler."""
        return float(self.truth["unprofiled_ms_per_step"]) * 1e3


def recordings() -> dict[str, Recording]:
    """Read every recording that has a measured time."""
    found: dict[str, Recording] = {}
    for folder in FOLDERS:
        if not (folder / "truth.json").exists():
            continue
        for truth in json.loads((folder / "truth.json").read_text()):
            if "unprofiled_ms_per_step" not in truth:
                continue
            timeline = read(folder / truth["file"])[0]
            found[truth["file"]] = Recording(truth, forecast(prepare(timeline).case))
    return found


def error(predicted: float, measured: float) -> float:
    """Relative error of a prediction."""
    return predicted / measured - 1


def summary(errors: list[float]) -> str:
    """Word how far off a list of predictions is."""
    size = np.abs(errors)
    return (
        f"{len(errors)} predictions: {np.median(size):.1%} off in the median, "
        f"{np.percentile(size, 90):.0%} at most in nine of ten, {size.max():.0%} at worst."
    )


def table(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table, followed by an empty one."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def identity(found: dict[str, Recording]) -> Iterator[str]:
    """Yield how well a replay without any change gives the recording back."""
    worst = max(recording.forecast.identity_error for recording in found.values())
    yield f"### No change\n\n{len(found)} recordings; the worst step is {worst:.2%} off.\n"


def graphs(found: dict[str, Recording]) -> Iterator[str]:
    """Yield the predicted times as a CUDA graph against the measured ones."""
    rows, errors = [], []
    for recording in found.values():
        measured = recording.truth.get("graphed_ms_per_step")
        if measured is None or recording.forecast.case.steps.by == "kernel period":
            continue
        after = recording.forecast.after(cuda_graph).step_us
        errors.append(error(after, measured * 1e3))
        rows.append(
            [
                recording.name,
                *_times(recording.measured_us, after, measured * 1e3),
                f"{errors[-1]:+.1%}",
            ]
        )
    yield f"### As one CUDA graph\n\n{summary(errors)}\n"
    yield from table(["recording", "eager us", "predicted us", "measured us", "error"], rows)


def cures(found: dict[str, Recording]) -> Iterator[str]:
    """Yield the predicted times of cured programs against those of the programs cured."""
    rows, errors = [], []
    for file, recording in found.items():
        twin = TWINS.get(file) or recording.truth.get("twin")
        cause = recording.truth["top"]
        if twin not in found or cause not in CURES:
            continue
        name, change = CURES[cause]
        after, measured = recording.forecast.after(change).step_us, found[twin].measured_us
        errors.append(error(after, measured))
        rows.append(
            [
                recording.name,
                name,
                *_times(recording.measured_us, after, measured),
                f"{errors[-1]:+.0%}",
            ]
        )
    yield f"### Cured programs\n\n{summary(errors)}\n"
    yield from table(
        ["recording", "what-if", "sick us", "predicted us", "measured us", "error"], rows
    )


def sm_counts(found: dict[str, Recording]) -> Iterator[str]:
    """Yield predicted times at other SM counts, from recordings on the whole chip."""
    rows, errors = [], []
    for file, whole in found.items():
        if not file.startswith("sms132."):
            continue
        for count in (96, 64, 32):
            other = found.get(file.replace("sms132", f"sms{count:03}"))
            if other is None:
                continue
            after = whole.forecast.after(sm_count(count)).step_us
            errors.append(error(after, other.measured_us))
            rows.append(
                [
                    file[7:-8],
                    str(count),
                    *_times(whole.measured_us, after, other.measured_us),
                    f"{errors[-1]:+.0%}",
                ]
            )
    if errors:
        yield f"### Other SM counts, whole programs\n\n{summary(errors)}\n"
        yield from table(
            ["program", "SMs", "on 132 us", "predicted us", "measured us", "error"], rows
        )


def sweep() -> Iterator[str]:
    """Yield the scaling of three kernels timed in green contexts of 8 to 132 SMs."""
    measured = {int(count): times for count, times in json.loads(SWEEP.read_text()).items()}
    whole = measured[132]
    rows = []
    for count, times in sorted(measured.items()):
        row = [str(count)]
        for name, (ctas, per_sm, persistent) in SWEPT.items():
            factor = scaling(
                np.array([ctas]),
                np.array([per_sm]),
                np.array([persistent], dtype=np.uint8),
                132,
                count,
            ).factor[0]
            row.append(f"{times[name]:.3f} ({error(whole[name] * factor, times[name]):+.0%})")
        rows.append(row)
    yield "### Other SM counts, single kernels\n"
    yield "Measured ms, and in brackets the prediction's error.\n"
    yield from table(["SMs", *SWEPT], rows)


def _times(*us: float) -> list[str]:
    return [f"{value:,.0f}" for value in us]


def main() -> None:
    """Print the tables; with --write, put them into the document."""
    found = recordings()
    parts: tuple[Callable[[dict[str, Recording]], Iterator[str]], ...] = (
        identity,
        graphs,
        cures,
        sm_counts,
    )
    text = "\n".join([line for part in parts for line in part(found)] + list(sweep()))
    print(text)
    if "--write" in sys.argv[1:]:
        before, rest = DOCUMENT.read_text().split(BEGIN)
        after = rest.split(END)[1]
        DOCUMENT.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}")


if __name__ == "__main__":
    main()
