"""One model eager, and compiled in two modes."""

from __future__ import annotations

import functools
from typing import cast

import torch
from torch import nn

from benchmarks.workloads.cases import DEVICE, HOST_CAUSES, Case, Graph, Group, Workload
from benchmarks.workloads.models import decoder, inference, rotary


def prompt(mode: str = "") -> Workload:
    """Run a short prompt through a small decoder, compiled unless ``mode`` is empty."""
    model: nn.Module = decoder(layers=4, width=512, heads=8)
    if mode:
        model = cast("nn.Module", torch.compile(model, mode=mode))
    tokens = torch.randint(32000, (1, 64), device=DEVICE)
    return Workload(inference(model, tokens, rotary(64, 64)))


GROUPS = (
    Group(
        "compile",
        (
            Case("compile.eager", prompt, top="launch-bound", graph=Graph.TIMED),
            Case(
                "compile.default",
                functools.partial(prompt, "default"),
                top="launch-bound",
                twin="compile.reduce_overhead",
            ),
            Case(
                "compile.reduce_overhead",
                functools.partial(prompt, "reduce-overhead"),
                not_top=tuple(cause for cause in HOST_CAUSES if cause != "launch-bound"),
                remark="The GPU waits for 30% of a step: what calling a compiled model costs.",
            ),
        ),
        limit_s=150,
    ),
)
