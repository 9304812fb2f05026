"""Nothing planted: large matrix products, their data on the GPU, which is never idle."""

from __future__ import annotations

import torch

import tailwave

WIDTH, PRODUCTS = 8192, 6
STEPS = 160
AHEAD = 4  # steps that the host is ahead of the GPU: enough, and the program ends when it says so


def main(device: str = "cuda", steps: int = STEPS, width: int = WIDTH) -> None:
    """Multiply."""
    torch.manual_seed(0)
    scale = width**-0.5
    weights = [torch.randn(width, width, device=device).bfloat16() * scale for _ in range(2)]
    x = torch.randn(width, width, device=device).bfloat16()
    ends = [torch.cuda.Event() for _ in range(AHEAD)]
    for step in range(steps):
        if step >= AHEAD:
            ends[step % AHEAD].synchronize()
        for product in range(PRODUCTS):
            x = x @ weights[product % 2]
        x = x / x.float().std()
        ends[step % AHEAD].record()
        tailwave.step()
    tailwave.output("size", x.float().abs().mean())


if __name__ == "__main__":
    main()
