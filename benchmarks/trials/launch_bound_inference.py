"""Planted: a small model of which the host cannot launch the kernels as fast as the GPU runs them.

The cure is one launch for the whole step: `cuda-graph`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

import tailwave

BLOCKS, WIDTH, ROWS = 24, 256, 8
STEPS = 500


class Block(nn.Module):
    """A norm, two layers and what was there before: six short kernels."""

    def __init__(self) -> None:
        """Make the layers."""
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        """Run it."""
        added: Tensor = self.down(torch.relu(self.up(self.norm(x))))
        return x + added


def main(device: str = "cuda", steps: int = STEPS) -> None:
    """Serve one request after another."""
    torch.manual_seed(0)
    model = nn.Sequential(*(Block() for _ in range(BLOCKS))).to(device, torch.bfloat16).eval()
    requests = torch.randn(8, ROWS, WIDTH, device=device, dtype=torch.bfloat16)
    with torch.inference_mode():
        for step in range(steps):
            answer = model(requests[step % len(requests)])
            tailwave.step()
    tailwave.output("answer", answer)


if __name__ == "__main__":
    main()
