"""Steps that wait for the GPU in the middle, beside the same steps without the wait."""

from __future__ import annotations

import functools

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from benchmarks.workloads.cases import DEVICE, HOST_CAUSES, Case, Graph, Group, Workload
from benchmarks.workloads.models import Decoding, Tower, decoder, noise
from benchmarks.workloads.recorder import capture

ROWS, WIDTH = 4096, 2048


def norms(*, every: int, read: bool) -> Workload:
    """Read a norm with ``.item()`` after every so many layers, or leave it on the GPU."""
    weights = [noise(WIDTH, WIDTH) / WIDTH**0.5 for _ in range(24)]
    start = noise(ROWS, WIDTH)

    def step() -> None:
        x = start
        with torch.inference_mode():
            for index, weight in enumerate(weights):
                x = F.relu(x @ weight)
                if index % every == every - 1:
                    peak = x[0].amax()
                    x = x / peak.item() if read else x / peak

    return Workload(step)


def masking(*, known: bool) -> Workload:
    """Update the rows that a mask selects: found with ``nonzero`` each time, or known before."""
    weights = [noise(WIDTH, WIDTH) / WIDTH**0.5 for _ in range(12)]
    start = noise(2 * ROWS, WIDTH)
    found: dict[int, Tensor] = {}

    def selected(layer: int, x: Tensor) -> Tensor:
        if not known or layer not in found:
            found[layer] = torch.nonzero(x[:, 0] > 0).squeeze(1)
        return found[layer]

    def step() -> None:
        x = start
        with torch.inference_mode():
            for layer, weight in enumerate(weights):
                rows = selected(layer, x)
                x = x.index_copy(0, rows, F.relu(x[rows] @ weight) - 0.5).roll(1, dims=1)

    return Workload(step)


def masking_everywhere() -> Workload:
    """Update all rows and keep what the mask selects: more arithmetic, but no wait."""
    weights = [noise(WIDTH, WIDTH) / WIDTH**0.5 for _ in range(12)]
    start = noise(2 * ROWS, WIDTH)

    def step() -> None:
        x = start
        with torch.inference_mode():
            for weight in weights:
                x = torch.where(x[:, :1] > 0, F.relu(x @ weight) - 0.5, x).roll(1, dims=1)

    return Workload(step)


def training(*, read: bool) -> Workload:
    """Train a small net; read the loss with ``.item()`` after each step, or never."""
    with torch.device(DEVICE):
        model = torch.nn.Sequential(Tower(4, 512), torch.nn.Linear(512, 10))
    optimizer = torch.optim.Adam(model.parameters(), capturable=True)
    inputs = torch.randn((256, 512), device=DEVICE)
    labels = torch.randint(10, (256,), device=DEVICE)
    total = 0.0

    def step() -> None:
        nonlocal total
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        if read:
            total += loss.item()

    return Workload(step)


def decoding(*, host: bool, graphed: bool = False) -> Workload:
    """Decode greedily; choose the token on the host from ``logits.cpu()``, or on the GPU."""
    state = Decoding(decoder(layers=8, width=1536, heads=12), batch=8)
    out = torch.zeros((8, 32000), device=DEVICE, dtype=torch.bfloat16)

    def logits() -> None:
        with torch.inference_mode():
            out.copy_(state.logits())

    forward = capture(logits) if graphed else logits

    def step() -> None:
        forward()
        with torch.inference_mode():
            if host:
                state.tokens.copy_(out.cpu().argmax(-1, keepdim=True))
            else:
                state.tokens.copy_(out.argmax(-1, keepdim=True))

    return Workload(step)


_SLOWER_TWIN = (
    "The twin divides by a value that stays on the GPU, which takes 29 us where dividing by a"
    " number takes 7: it brings {} ms a step less than the waits cost."
)


def _norm(every: int, name: str, slower_ms: float) -> tuple[Case, Case]:
    return (
        Case(
            f"sync_norm.{name}",
            functools.partial(norms, every=every, read=True),
            top="host-sync",
            twin=f"sync_norm.{name}_kept",
            remark=_SLOWER_TWIN.format(slower_ms),
        ),
        Case(
            f"sync_norm.{name}_kept",
            functools.partial(norms, every=every, read=False),
            not_top=HOST_CAUSES,
            graph=Graph.TIMED,
        ),
    )


GROUPS = (
    Group("norms", (*_norm(4, "item_every_4th", 0.13), *_norm(1, "item_every", 0.52))),
    Group(
        "mask",
        (
            Case(
                "sync_mask.nonzero",
                functools.partial(masking, known=False),
                top="host-sync",
                twin="sync_mask.known",
            ),
            Case(
                "sync_mask.known",
                functools.partial(masking, known=True),
                not_top=HOST_CAUSES,
                graph=Graph.TIMED,
            ),
            Case("sync_mask.where", masking_everywhere, not_top=HOST_CAUSES, graph=Graph.TIMED),
        ),
    ),
    Group(
        "loss",
        (
            Case(
                "sync_loss.item",
                functools.partial(training, read=True),
                top="launch-bound",
                twin="sync_loss.kept",
                remark="Planted as host-sync; the wait costs a tenth, the launches the rest.",
            ),
            Case(
                "sync_loss.kept",
                functools.partial(training, read=False),
                top="launch-bound",
                graph=Graph.TIMED,
            ),
        ),
    ),
    Group(
        "logits",
        (
            Case(
                "sync_logits.cpu_eager",
                functools.partial(decoding, host=True),
                top="launch-bound",
                twin="sync_logits.gpu.eager",
                remark="Planted as host-sync; beside the launches the wait costs nothing.",
            ),
            Case(
                "sync_logits.cpu_graph",
                functools.partial(decoding, host=True, graphed=True),
                top="host-sync",
                twin="sync_logits.gpu.graph",
            ),
            Case(
                "sync_logits.gpu",
                functools.partial(decoding, host=False),
                top="launch-bound",
                graph=Graph.RECORDED,
            ),
        ),
    ),
)
