"""Planted: images are prepared in line, one batch after another, while the GPU waits.

The cure is to prepare them in other processes: `prefetch`.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

import tailwave

SIDE, BATCH, WIDTH, LAYERS = 224, 4, 2048, 4
STEPS = 160


class Images(Dataset[Tensor]):
    """Random images, brightened and blurred when they are asked for."""

    def __init__(self, count: int) -> None:
        """Draw one: each item is another version of it."""
        self._count = count
        self._image = np.random.default_rng(0).integers(0, 256, (3, SIDE, SIDE), dtype=np.uint8)

    def __len__(self) -> int:
        """Return how many there are."""
        return self._count

    def __getitem__(self, index: int) -> Tensor:
        """Prepare one."""
        image = self._image.astype(np.float32) * np.float32(1 + index % 7 / 7)
        for axis in (1, 2):
            image = (np.roll(image, 1, axis) + image + np.roll(image, -1, axis)) / np.float32(3)
        return torch.from_numpy(image / np.float32(255))


def main(device: str = "cuda", steps: int = STEPS) -> None:
    """Run a small model on every batch."""
    torch.manual_seed(0)
    embed = nn.Conv2d(3, WIDTH, 16, 16).to(device)
    layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)).to(device)
    scores = []
    with torch.no_grad():
        for images in DataLoader(Images(BATCH * steps), batch_size=BATCH):
            x = embed(images.to(device)).flatten(2).transpose(1, 2)
            for layer in layers:
                x = x + torch.relu(layer(x))
            scores.append(x.mean())
            tailwave.step()
    tailwave.output("scores", torch.stack(scores))


if __name__ == "__main__":
    main()
