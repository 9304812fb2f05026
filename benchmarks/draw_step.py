"""Draws docs/assets/step.svg: a step of a shipped recording as it is, and as one CUDA graph.

Both timelines are what ``tailwave whatif --trace`` writes of examples/recordings: the step without
the profiler's own cost, and the same work replayed as one graph. Run it again when the replay or
the recording has changed: ``python benchmarks/draw_step.py``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
RECORDING = ROOT / "examples" / "recordings" / "decode_small.eager.json.gz"
PICTURE = ROOT / "docs" / "assets" / "step.svg"

WIDTH, HEIGHT = 860, 222
LEFT, RIGHT = 64, 844  # where a step's begin and the longer step's end are drawn
ROW = 22
# One hue for work and none for waiting, readable on white and on black.
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #57606a }
.title { font-weight: 600; fill: #1f2328 }
.lane { fill: #8c959f; fill-opacity: .16 }
.host { fill: #8250df }
.gpu { fill: #1a7f37 }
.saved { stroke: #57606a; stroke-width: 1 }
@media (prefers-color-scheme: dark) {
  text { fill: #9198a1 }
  .title { fill: #f0f6fc }
  .host { fill: #ab7df8 }
  .gpu { fill: #3fb950 }
  .saved { stroke: #9198a1 }
}
"""


class Span(NamedTuple):
    """A piece of work, in microseconds from the begin of its step."""

    begin: float
    end: float


class Step(NamedTuple):
    """A step of a timeline: what the host issued, what the GPU ran, and what a step takes (us)."""

    host: list[Span]
    gpu: list[Span]
    us: float


def replayed(*change: str) -> Step:
    """Replay the recording under a change, and return its first step."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "trace.json")
        words = ("whatif", str(RECORDING), *change, "--json", "--trace", str(trace))
        command = [sys.executable, "-m", "tailwave", *words]
        answer = subprocess.run(command, capture_output=True, check=True).stdout  # noqa: S603 - ours
        events = json.loads(trace.read_text("utf-8"))["traceEvents"]
    steps = [float(event["ts"]) for event in events if event.get("cat") == "user_annotation"]

    def first(category: str) -> list[Span]:
        spans = sorted(
            Span(event["ts"] - min(steps), event["ts"] - min(steps) + event["dur"])
            for event in events
            if event.get("cat") == category
        )
        return spans[: len(spans) // len(steps)]

    return Step(
        first("cuda_runtime"), first("kernel"), json.loads(answer)["what_ifs"][0]["step_us_after"]
    )


def picture() -> str:
    """Return the drawing."""
    before, after = replayed("--host-speed", "1"), replayed("--cuda-graph")
    scale = (RIGHT - LEFT) / before.us
    end = LEFT + after.gpu[-1].end * scale
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">
<title>A step before and after: a launch for each kernel, and one CUDA graph</title>
<style>{STYLE}</style>
<text class="title" x="{LEFT}" y="20">
As it is: {len(before.host)} launches keep the GPU waiting</text>
<text x="{RIGHT}" y="20" text-anchor="end">{before.us / 1e3:.2f} ms</text>
{lanes(before, 32, scale)}
<text class="title" x="{LEFT}" y="120">As one CUDA graph: the same {len(after.gpu)} kernels</text>
<text x="{RIGHT}" y="120" text-anchor="end">{after.us:.0f} us</text>
{lanes(after, 132, scale)}
<path class="saved" d="M{end + 6:.1f} 173H{RIGHT}"/>
<text x="{(end + RIGHT) / 2:.1f}" y="164" text-anchor="middle">
{(before.us - after.us) / 1e3:.2f} ms saved in each step</text>
<text x="{LEFT}" y="210">
A small model decoding on an H200; both drawn from one recording, on one scale.</text>
</svg>
"""


def lanes(step: Step, top: int, scale: float) -> str:
    """Draw what the host issued above what the GPU ran."""
    drawn = []
    length = max(step.us, step.gpu[-1].end) * scale
    for name, spans, y in (("host", step.host, top), ("GPU", step.gpu, top + ROW + 8)):
        drawn += [
            f'<text x="{LEFT - 10}" y="{y + 16}" text-anchor="end">{name}</text>',
            f'<rect class="lane" x="{LEFT}" y="{y}" width="{length:.1f}" height="{ROW}"/>',
            f'<path class="{name.lower()}" d="{"".join(bar(span, y, scale) for span in spans)}"/>',
        ]
    return "\n".join(drawn)


def bar(span: Span, y: int, scale: float) -> str:
    """Draw one piece of work, never thinner than can be seen."""
    left = LEFT + span.begin * scale
    width = max((span.end - span.begin) * scale, 0.6)
    return f"M{left:.1f} {y}h{width:.1f}v{ROW}h-{width:.1f}z"


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture(), "utf-8")
