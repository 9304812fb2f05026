"""Planted: large batches are copied from pageable memory, and host and GPU wait for each copy.

The batches lie ready, and none of them in pinned memory. The cure is `async-copy`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

import tailwave

ROWS, WIDTH, LAYERS = 4096, 2048, 24  # a batch is 32 MiB of float
KEPT = 8
STEPS = 200


class Rows(Dataset[Tensor]):
    """Whole batches, which lie in memory."""

    def __init__(self, count: int, rows: int) -> None:
        """Draw a few; they come again and again."""
        self._count = count
        random = torch.Generator().manual_seed(0)
        self._batches = [torch.randn(rows, WIDTH, generator=random) for _ in range(KEPT)]

    def __len__(self) -> int:
        """Return how many there are."""
        return self._count

    def __getitem__(self, index: int) -> Tensor:
        """Return one."""
        return self._batches[index % KEPT]


def main(device: str = "cuda", steps: int = STEPS, rows: int = ROWS) -> None:
    """Run a model on every batch."""
    torch.manual_seed(0)
    layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))
    layers.to(device, torch.bfloat16)
    scores = []
    with torch.no_grad():
        for batch in DataLoader(Rows(steps, rows), batch_size=None):
            x = batch.to(device).bfloat16()
            for layer in layers:
                x = x + torch.relu(layer(x))
            scores.append(x.float().mean())
            tailwave.step()
    tailwave.output("scores", torch.stack(scores))


if __name__ == "__main__":
    main()
