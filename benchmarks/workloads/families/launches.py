"""Launch-bound steps: many short kernels, each with its CUDA-graph twin."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from benchmarks.workloads.cases import DEVICE, Case, Graph, Group, Workload
from benchmarks.workloads.models import (
    Decoding,
    RecurrentLoop,
    Tower,
    decoder,
    half,
    inference,
    noise,
)


def vision() -> Workload:
    """ViT-B/16 on one image."""
    from torchvision.models import vit_b_16  # noqa: PLC0415 - slow to import, needed once

    with torch.device(DEVICE):
        model = half(vit_b_16())
    return Workload(inference(model, noise(1, 3, 224, 224)))


def language() -> Workload:
    """BERT-base on one sequence of 128 tokens."""
    from transformers import BertConfig, BertModel  # noqa: PLC0415

    with torch.device(DEVICE):
        model = half(BertModel(BertConfig(), add_pooling_layer=False))
    tokens = torch.randint(30000, (1, 128), device=DEVICE)
    # Without a mask of its own the model makes one while a graph is captured, and only then.
    mask = torch.zeros((1, 1, 128, 128), device=DEVICE, dtype=torch.bfloat16)
    return Workload(inference(model, tokens, mask))


def recurrent() -> Workload:
    """A two-layer GRU over 64 time steps, its cells called from Python."""
    with torch.device(DEVICE):
        model = half(RecurrentLoop(512))
    return Workload(inference(model, noise(64, 32, 512)))


def training() -> Workload:
    """A training step of a small net: forward, backward and fused Adam."""
    with torch.device(DEVICE):
        model = torch.nn.Sequential(Tower(6, 256), torch.nn.Linear(256, 10))
    optimizer = torch.optim.Adam(model.parameters(), fused=True, capturable=True)
    inputs = torch.randn((64, 256), device=DEVICE)
    labels = torch.randint(10, (64,), device=DEVICE)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(inputs), labels).backward()
        optimizer.step()

    return Workload(step)


def decoding() -> Workload:
    """One token of a small Llama-like model for a batch of four."""
    state = Decoding(decoder(layers=8, width=1024, heads=16), batch=4)

    def step() -> None:
        with torch.inference_mode():
            state.tokens.copy_(state.logits().argmax(-1, keepdim=True))

    return Workload(step)


def pointwise() -> Workload:
    """Two hundred pointwise operators on a small tensor."""
    start = torch.randn(65536, device=DEVICE)

    def step() -> Tensor:
        x = start
        with torch.inference_mode():
            for _ in range(40):
                x = torch.sigmoid(torch.tanh(x * 1.1 + 0.1) - start)
        return x

    return Workload(step)


GROUPS = tuple(
    Group(name, (Case(name, build, top="launch-bound", graph=Graph.RECORDED),))
    for name, build in (
        ("vit_b16", vision),
        ("bert_base", language),
        ("gru_loop", recurrent),
        ("mlp_train", training),
        ("llama_decode", decoding),
        ("pointwise_chain", pointwise),
    )
)
