"""Times whole models' steps: eager, by `tailwave.graph`, and by torch.compile's reduce-overhead.

    python3 -m benchmarks.graph_models --out benchmarks/results/graph_models_h200.json

Weights are random. Each way of running has a model of its own made from the same seed; the three
take turns, one step each with a synchronize after it. The speed-up is the median over rounds of
eager's time over the other's, with its 95% interval. Agreement is the largest difference from
eager over eager's largest value, on inputs that no capture has seen, with state carried along.
"""

from __future__ import annotations

import argparse
import json
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name every PyTorch script uses
import torchvision
import transformers
from torch import Tensor, nn

import tailwave
from benchmarks.provenance import provenance
from benchmarks.workloads.models import Decoding, RecurrentLoop, Tower, decoder
from tailwave.stats import summarise

ROUNDS = 150
FRESH = 3
# Seconds for one way of running one model to get ready, and for the whole run.
READY = 60.0
WHOLE = 225.0

Step = Callable[..., Tensor]
Draw = Callable[[], tuple[Tensor, ...]]


def gpt() -> tuple[Step, Draw]:
    """One token of a 12-layer decoder, batch 4, with a static cache that it writes in place."""
    decoding = Decoding(decoder(12, 768, 12), 4)

    def step(tokens: Tensor) -> Tensor:
        decoding.tokens.copy_(tokens)
        return decoding.logits()

    return step, lambda: (torch.randint(32000, (4, 1), device="cuda"),)


def resnet() -> tuple[Step, Draw]:
    """ResNet-50, one image."""
    model = torchvision.models.resnet50(weights=None).cuda().eval()
    return model, lambda: (torch.randn(1, 3, 224, 224, device="cuda"),)


def vit() -> tuple[Step, Draw]:
    """ViT-B/16, one image in bfloat16."""
    model = torchvision.models.vit_b_16(weights=None)
    nn.init.normal_(model.heads.head.weight, std=0.02)  # it starts at zero, and so would the output
    model = model.cuda().to(torch.bfloat16).eval()
    return model, lambda: (torch.randn(1, 3, 224, 224, device="cuda", dtype=torch.bfloat16),)


def bert() -> tuple[Step, Draw]:
    """BERT-base, one sequence of 128 tokens in bfloat16."""
    model = transformers.BertModel(transformers.BertConfig()).cuda().to(torch.bfloat16).eval()

    def step(tokens: Tensor) -> Tensor:
        # Without a mask: transformers looks at a mask's values on the CPU, which waits.
        out: Tensor = model(input_ids=tokens).last_hidden_state
        return out

    return step, lambda: (torch.randint(30000, (1, 128), device="cuda"),)


def gru() -> tuple[Step, Draw]:
    """A GRU's pass over 24 frames, batch 8."""
    return RecurrentLoop(256).cuda().eval(), lambda: (torch.randn(24, 8, 256, device="cuda"),)


class Block(nn.Module):
    """A residual block of a denoiser: two convolutions, the time's shift, and attention."""

    def __init__(self, width: int) -> None:
        """Make the layers."""
        super().__init__()
        self.norms = nn.ModuleList(nn.GroupNorm(8, width) for _ in range(3))
        self.convolutions = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(2))
        self.shift, self.mix, self.out = (
            nn.Linear(width, width),
            nn.Linear(width, 3 * width),
            nn.Linear(width, width),
        )

    def forward(self, x: Tensor, moment: Tensor) -> Tensor:
        """Run the block."""
        y = self.convolutions[0](F.silu(self.norms[0](x)))
        y = self.convolutions[1](F.silu(self.norms[1](y + self.shift(moment)[:, :, None, None])))
        x = x + y
        flat = self.norms[2](x).flatten(2).transpose(1, 2)
        query, key, value = (
            part.unflatten(-1, (4, -1)).transpose(1, 2) for part in self.mix(flat).chunk(3, -1)
        )
        mixed = F.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)
        return x + self.out(mixed).transpose(1, 2).unflatten(-1, x.shape[2:])


class Denoiser(nn.Module):
    """A small U-Net over two scales."""

    def __init__(self, width: int) -> None:
        """Make the layers."""
        super().__init__()
        self.enter, self.leave = nn.Conv2d(4, width, 3, padding=1), nn.Conv2d(width, 4, 1)
        self.down = nn.Conv2d(width, width, 3, stride=2, padding=1)
        self.blocks = nn.ModuleList(Block(width) for _ in range(4))

    def forward(self, x: Tensor, moment: Tensor) -> Tensor:
        """Predict the noise."""
        high = self.blocks[0](self.enter(x), moment)
        low = self.blocks[2](self.blocks[1](self.down(high), moment), moment)
        out: Tensor = self.leave(self.blocks[3](high + F.interpolate(low, scale_factor=2), moment))
        return out


def denoise() -> tuple[Step, Draw]:
    """One step of a denoising loop: predict the noise and take a part of it away."""
    model = Denoiser(128).cuda().eval()

    def step(x: Tensor, moment: Tensor) -> Tensor:
        predicted: Tensor = model(x, moment)
        return x - 0.1 * predicted

    return step, lambda: (
        torch.randn(1, 4, 32, 32, device="cuda"),
        torch.randn(1, 128, device="cuda"),
    )


def training() -> tuple[Step, Draw]:
    """A training step of an 8-layer perceptron with Adam: forward, backward, update."""
    model = Tower(8, 512).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, capturable=True)

    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, lambda: (
        torch.randn(128, 512, device="cuda"),
        torch.randn(128, 512, device="cuda"),
    )


MODELS = {
    "mlp training (Adam)": training,
    "GRU 24 frames": gru,
    "denoising step": denoise,
    "GPT decode": gpt,
    "BERT-base": bert,
    "ViT-B/16": vit,
    "ResNet-50": resnet,
}
TRAINS = {"mlp training (Adam)"}
KEEPS_STATE = {*TRAINS, "GPT decode"}


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TimeoutError once the time is over."""

    def over(*_: object) -> None:
        raise TimeoutError(f"not ready after {seconds:.0f} s")

    signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.01))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


class Way:
    """One way of running one model."""

    def __init__(self, name: str, make: Callable[[], tuple[Step, Draw]], seconds: float) -> None:
        """Build the model and make it ready; a failure is kept as words."""
        self.name, self.failure, self.ready_s = name, "", 0.0
        self.us: list[float] = []
        torch.manual_seed(0)
        torch._dynamo.reset()  # noqa: SLF001 - or the code of the model before is counted in
        step, self.draw = make()
        start = time.perf_counter()
        try:
            with at_most(seconds):
                self.step = self._made(step)
                torch.cuda.synchronize()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this way's result
            self.failure = f"{type(error).__name__}: {error}".splitlines()[0]
        self.ready_s = time.perf_counter() - start

    def _made(self, step: Step) -> Step:
        """Return the step to time."""
        if self.name == "eager":
            return step
        torch.manual_seed(1)
        example = self.draw()
        if self.name == "graph":
            return tailwave.graph(step, *example)
        compiled = torch.compile(step, mode="reduce-overhead")
        for _ in range(3):
            compiled(*example)
        return compiled

    def run(self, inputs: tuple[Tensor, ...]) -> Tensor:
        """Run one step and wait; note its time."""
        torch.cuda.synchronize()
        start = time.perf_counter()
        if self.name == "compile":
            torch.compiler.cudagraph_mark_step_begin()
        out = self.step(*inputs)
        torch.cuda.synchronize()
        self.us.append((time.perf_counter() - start) * 1e6)
        return out


def measured(model: str, deadline: float) -> dict[str, Any]:
    """Measure one model in all ways."""
    ways = []
    for name in ("eager", "graph", "compile"):
        left = deadline - time.perf_counter()
        ways.append(Way(name, MODELS[model], min(READY, left)))
    running = [way for way in ways if not way.failure]
    gaps = agreement(running, model)
    for _ in range(20):
        inputs = running[0].draw()
        for way in running:
            way.run(inputs)
    for way in running:
        way.us.clear()
    for _ in range(ROUNDS):
        inputs = running[0].draw()
        for way in running:
            way.run(inputs)
    return {way.name: figures(way, ways[0], gaps.get(way.name)) for way in ways}


def agreement(ways: list[Way], model: str) -> dict[str, float]:
    """Return each way's largest difference from eager, as a share of eager's largest value."""
    gaps = {way.name: 0.0 for way in ways}
    if model in KEEPS_STATE:  # which compile's own warm-up steps have moved on
        ways = [way for way in ways if way.name != "compile"]
        gaps.pop("compile", None)
    for _ in range(FRESH):
        inputs = ways[0].draw()
        outs = {way.name: way.run(inputs).detach().double().clone() for way in ways}
        scale = float(outs["eager"].abs().max())
        for name, out in outs.items():
            gaps[name] = max(gaps[name], float((out - outs["eager"]).abs().max()) / scale)
    return gaps


def figures(way: Way, eager: Way, gap: float | None) -> dict[str, Any]:
    """Return one way's figures."""
    if way.failure:
        return {"failure": way.failure, "ready_s": round(way.ready_s, 2)}
    us = np.asarray(way.us)
    ratio = summarise(list(np.asarray(eager.us) / us))
    found: dict[str, Any] = {
        "p50_us": round(float(np.percentile(us, 50)), 1),
        "p99_us": round(float(np.percentile(us, 99)), 1),
        "speed_up": round(ratio.median, 3),
        "speed_up_95": [round(ratio.low, 3), round(ratio.high, 3)],
        "largest_gap": gap,
        "ready_s": round(way.ready_s, 2),
    }
    if way.name == "graph":
        graphed: Any = way.step
        found |= {
            "agreement": graphed.agreement,
            "replays": graphed.replays,
            "plain_calls": graphed.plain_calls,
        }
    if way.name == "compile":
        counters = torch._dynamo.utils.counters["inductor"]  # noqa: SLF001 - its only record
        found["cudagraph_skips"] = int(counters["cudagraph_skips"])
    return found


def table(models: dict[str, dict[str, Any]]) -> str:
    """Return the results as a Markdown table."""
    lines = [
        "| model | way | p50 us | p99 us | speed-up (95%) | off by | ready after |",
        "|---|---|---|---|---|---|---|",
    ]
    for model, ways in models.items():
        for way, seen in ways.items():
            if "failure" in seen:
                lines.append(f"| {model} | {way} | {seen['failure']} | | | | {seen['ready_s']} s |")
                continue
            low, high = seen["speed_up_95"]
            gap = seen["largest_gap"]
            off = "not compared" if gap is None else "0" if gap == 0 else f"{gap:.1e}"
            lines.append(
                f"| {model} | {way} | {seen['p50_us']:.0f} | {seen['p99_us']:.0f} | "
                f"{seen['speed_up']:.2f} ({low:.2f} to {high:.2f}) | {off} | {seen['ready_s']} s |"
            )
    return "\n".join(lines)


def main() -> None:
    """Measure the models, print the table, write the JSON."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--out", type=Path)
    options.add_argument("--only", nargs="*", default=list(MODELS), choices=list(MODELS))
    chosen = options.parse_args()
    warnings.filterwarnings("ignore")
    start = time.perf_counter()
    models = {}
    for model in chosen.only:
        models[model] = tried(model, start + WHOLE)
        print(model, json.dumps(models[model]), flush=True)
        save(chosen.out, models, time.perf_counter() - start)
    print(table(models))


def tried(model: str, deadline: float) -> dict[str, Any]:
    """Measure one model; whatever goes wrong is its result, and the next one's turn comes."""
    try:
        with torch.set_grad_enabled(model in TRAINS):
            return measured(model, deadline)
    except Exception as error:  # noqa: BLE001 - as said
        return {"eager": {"failure": f"{type(error).__name__}: {error}", "ready_s": 0.0}}


def save(out: Path | None, models: dict[str, Any], seconds: float) -> None:
    """Write what there is so far, where to is asked for."""
    if out is None:
        return
    result = {
        **provenance(),
        "torch": torch.__version__,
        "rounds": ROUNDS,
        "seconds": round(seconds, 1),
        "models": models,
    }
    out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
