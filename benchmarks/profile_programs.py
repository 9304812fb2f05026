"""What `tailwave.profile` measures of two programs, and what it costs them.

    python3 -m benchmarks.profile_programs --out FOLDER

Two programs, each in its own process: the training of a small transformer, kernel by kernel, fed by
a DataLoader with two workers; and a small decoder that draws one token after another and looks at
each. Each is timed for seconds as it is (the truth: a wait for the GPU at both ends, nothing in
between), then profiled inside a loop, then timed again. Into FOLDER go the traces and
``profile_programs.json``, which says of each program:

- ``truth_us``: before and after the profile. The second shows whether the profiler has left.
- ``measured``: what stands in the trace under "tailwave", and ``off``: how far that is from the
  truth before.
- ``mark_us``: what a mark costs while steps are timed, and when all is over (medians).
- ``pauses_ms``: long marks, by the number of the step: the profiler gets ready, starts, stops, and
  the trace is written.

Both run once more with TEARDOWN_CUPTI=0, so that CUPTI stays in the process: the reason for which
`tailwave.profile` has it leave.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

import tailwave
from benchmarks.provenance import provenance

WARM, STEPS = 30, 300  # steps before the truth, steps under the profile
BLOCKS, BLOCK_S = 5, 0.5  # of the truth: its median
PATIENCE_S = 150.0
PAUSE_US = 1000.0
WIDTH, HEADS, LAYERS, WORDS = 512, 8, 6, 8192

Step = Callable[[], None]


class Texts(Dataset[Tensor]):
    """Texts of random words, drawn when they are asked for."""

    def __len__(self) -> int:
        """Return more than any run needs."""
        return 1 << 20

    def __getitem__(self, index: int) -> Tensor:
        """Draw one."""
        return torch.from_numpy(np.random.default_rng(index).integers(0, WORDS, 129))


def training(device: str) -> Step:
    """Train to tell the next word: forward, backward, AdamW parameter by parameter."""
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True)
    model = nn.Sequential(
        nn.Embedding(WORDS, WIDTH), nn.TransformerEncoder(layer, LAYERS), nn.Linear(WIDTH, WORDS)
    ).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    loader = DataLoader(Texts(), batch_size=8, num_workers=2, pin_memory=device == "cuda")
    batches = iter(loader)

    def step() -> None:
        words = next(batches).to(device, non_blocking=True)
        with torch.autocast(device, dtype=torch.bfloat16):
            scores = model(words[:, :-1])
            loss = nn.functional.cross_entropy(scores.flatten(0, 1), words[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def decoding(device: str) -> Step:
    """Draw one word after another; the last 256 are what it looks back on."""
    layers = nn.ModuleList(
        nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True)
        for _ in range(LAYERS)
    )
    embed, out = nn.Embedding(WORDS, WIDTH).to(device), nn.Linear(WIDTH, WORDS).to(device)
    layers.to(device).train(mode=False)
    past = [torch.zeros(1, 256, WIDTH, device=device) for _ in layers]
    word = torch.zeros(1, 1, dtype=torch.long, device=device)
    drawn: list[int] = []

    @torch.no_grad()
    def step() -> None:
        nonlocal word
        x = embed(word)
        for number, layer in enumerate(layers):
            past[number] = torch.cat((past[number][:, 1:], x), dim=1)
            seen = layer.norm1(past[number])
            x = x + layer.self_attn(seen[:, -1:], seen, seen, need_weights=False)[0]
            x = x + layer.linear2(torch.relu(layer.linear1(layer.norm2(x))))
        word = torch.multinomial(torch.softmax(out(x)[:, -1], dim=-1), 1)
        drawn.append(int(word.item()))

    return step


PROGRAMS: dict[str, Callable[[str], Step]] = {"train": training, "decode": decoding}


def wait(device: str) -> None:
    """Wait for the GPU."""
    if device == "cuda":
        torch.cuda.synchronize()


def truth(step: Step, device: str) -> float:
    """Return the time of a step (us), of blocks with a wait at their ends: the median block."""
    times = []
    for _ in range(BLOCKS):
        wait(device)
        begin, count = time.perf_counter(), 0
        while time.perf_counter() - begin < BLOCK_S:
            step()
            count += 1
        wait(device)
        times.append((time.perf_counter() - begin) / count * 1e6)
    return statistics.median(times)


def profiled(name: str, trace: Path, device: str = "cuda") -> dict[str, object]:
    """Time a program, profile it, time it again; return what was found."""
    torch.manual_seed(0)
    step = PROGRAMS[name](device)
    for _ in range(WARM):
        step()
    before = truth(step, device)
    marks = []
    with tailwave.profile(trace) as profile:
        for _ in range(STEPS):
            step()
            begin = time.perf_counter()
            profile.step()
            marks.append((time.perf_counter() - begin) * 1e6)
    after = truth(step, device)
    (timeline,) = tailwave.read(profile.path).timelines
    measured = timeline.plain_step_us
    return {
        "truth_us": [round(before, 1), round(after, 1)],
        "plain_step_us": measured,
        "off": round(measured / before - 1, 4),
        "mark_us": [round(statistics.median(part), 2) for part in (marks[5:13], marks[-20:])],
        "pauses_ms": {n: round(us / 1e3, 2) for n, us in enumerate(marks) if us > PAUSE_US},
        "waits_recorded": len(timeline.waits),
        "notes": list(timeline.notes),
        "trace_bytes": trace.stat().st_size,
        "diagnosis": diagnosed(profile),
    }


def diagnosed(profile: tailwave.cures.library.profile.Profile) -> str:
    """Return the report, or why there is none: what was measured must not be lost by that."""
    try:
        return str(profile.diagnosis)
    except Exception:  # noqa: BLE001 - reported
        return traceback.format_exc()


def apart(name: str, trace: Path, *, leaves: bool) -> dict[str, object]:
    """Run one program in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.profile_programs", "--program", name]
    environment = {**os.environ, **({} if leaves else {"TEARDOWN_CUPTI": "0"})}
    try:
        done = subprocess.run(  # noqa: S603 - this very file
            [*command, "--trace", str(trace)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
    except subprocess.TimeoutExpired as error:
        return {"failed": f"no end after {PATIENCE_S:.0f} s: {error.stderr!r}"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        return {"failed": done.returncode, "said": done.stderr[-2000:]}
    found: dict[str, object] = json.loads(lines[-1])
    return found


def runs(out: Path) -> Iterator[tuple[str, dict[str, object]]]:
    """Run each program as it is used, and then with CUPTI that stays."""
    for leaves in (True, False):
        for name in PROGRAMS:
            label = name if leaves else f"{name}.cupti_stays"
            yield label, apart(name, out / f"{label}.json.gz", leaves=leaves)


def main() -> None:
    """Run all, print, and write after each what there is by then."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="folder for the traces and the results")
    parser.add_argument("--program", choices=PROGRAMS, help="be the program")
    parser.add_argument("--trace", type=Path, help="the program's trace")
    chosen = parser.parse_args()
    if chosen.program:
        print(json.dumps(profiled(chosen.program, chosen.trace)))
        return
    chosen.out.mkdir(parents=True, exist_ok=True)
    found: dict[str, object] = {**provenance(), "torch": torch.__version__}
    for label, result in runs(chosen.out):
        found[label] = result
        print(label, json.dumps(result, indent=1), flush=True)
        (chosen.out / "profile_programs.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
