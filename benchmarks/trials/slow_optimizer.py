"""Planted: hundreds of small parameters, which Adam updates with many kernels and much Python.

The gradients come from a flat buffer, as from the buckets of data-parallel training, so that the
optimizer is what a step takes its time for. The cure is `fused-optimizer`.
"""

from __future__ import annotations

import torch
from torch import nn

import tailwave

TENSORS, NUMBERS = 400, 256
STEPS = 300


def main(device: str = "cuda", steps: int = STEPS) -> None:
    """Fit many small vectors to a target."""
    torch.manual_seed(0)
    weights = torch.randn(TENSORS, NUMBERS, device=device)
    target = torch.randn(TENSORS, NUMBERS, device=device)
    gradients = torch.zeros_like(weights)
    parameters = [nn.Parameter(row) for row in weights]  # each a view of its row
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient
    optimizer = torch.optim.Adam(parameters, lr=1e-2)
    for _ in range(steps):
        torch.sub(weights, target, out=gradients)  # of half the squared distance
        optimizer.step()
        tailwave.step()
    tailwave.output("loss", (weights - target).square().mean())


if __name__ == "__main__":
    main()
