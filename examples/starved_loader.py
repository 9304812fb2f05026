"""A training loop that waits for its images: they are prepared in line, and the GPU stands idle.

    python examples/starved_loader.py [--json]

Before: ``DataLoader(num_workers=0)`` and a plain copy. After: worker processes prepare the images
ahead, and ``tailwave.staged`` copies them to the GPU ahead of use. Needs PyTorch, tailwave[cuda],
a GPU, and 512 MiB of shared memory for the workers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt
import showing
from showing import Tensor, Torch

import tailwave

PHOTO, CROP, BATCH = 256, 224, 16
MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)
DEVIATION = np.array([0.229, 0.224, 0.225], dtype=np.float32)
PATCH, WIDTH, LAYERS = 16, 2048, 8
STEPS, SKIPPED = 160, 20  # the first ones start the workers and warm up
MOST_WORKERS = 8


class Photos:
    """Random photographs, each cropped, mirrored, scaled and normalised when it is asked for."""

    def __init__(self, count: int) -> None:
        """Draw one photograph: every item is another part of it."""
        self._count = count
        random = np.random.default_rng(0)
        self._photo = random.integers(0, 256, (PHOTO, PHOTO, 3), dtype=np.uint8)

    def __len__(self) -> int:
        """Return how many there are."""
        return self._count

    def __getitem__(self, index: int) -> npt.NDArray[np.float32]:
        """Prepare one: (3, CROP, CROP)."""
        if index >= self._count:
            raise IndexError(index)
        random = np.random.default_rng(index)
        top, left = random.integers(0, PHOTO - CROP, 2)
        crop = self._photo[top : top + CROP, left : left + CROP]
        if index % 2:
            crop = crop[:, ::-1]
        normal = (crop.astype(np.float32) / 255 - MEAN) / DEVIATION
        return np.ascontiguousarray(normal.transpose(2, 0, 1))


def trainer(torch: Torch, device: str) -> Callable[[Tensor], object]:
    """Return what trains a small model on a batch that is on the GPU."""
    torch.manual_seed(0)
    embed = torch.nn.Conv2d(3, WIDTH, PATCH, PATCH)
    layers = [torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]
    model = torch.nn.ModuleList((embed, *layers)).to(device, torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def train(images: Tensor) -> object:
        optimizer.zero_grad()
        x = embed(images.to(torch.bfloat16)).flatten(2).transpose(1, 2)
        for layer in layers:
            x = torch.relu(layer(x))
        loss = x.float().square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return train


def cadence(
    torch: Torch, batches: Iterable[Tensor], train: Callable[[Tensor], object]
) -> list[float]:
    """Return the time from step to step (us), each with the wait for its batch."""
    ends = []
    for batch in batches:
        train(batch)
        torch.cuda.current_stream().synchronize()
        ends.append(time.perf_counter())
    return [(b - a) * 1e6 for a, b in zip(ends[SKIPPED:], ends[SKIPPED + 1 :], strict=False)]


def show() -> showing.Shown:
    """Measure both."""
    torch = showing.torch_on_gpu()
    photos = Photos(BATCH * STEPS)
    workers = max(1, min(MOST_WORKERS, len(os.sched_getaffinity(0)) - 1))
    train = trainer(torch, "cuda")
    plain = torch.utils.data.DataLoader(photos, batch_size=BATCH)
    ahead = torch.utils.data.DataLoader(photos, batch_size=BATCH, num_workers=workers)
    inline = cadence(torch, (batch.to("cuda") for batch in plain), train)
    fed = cadence(torch, tailwave.staged(ahead, ahead=2), train)
    before = showing.Row("before: num_workers=0, plain copies", tuple(inline))
    after = showing.Row(f"after: num_workers={workers}, tailwave.staged", tuple(fed))
    sentence = (
        f"A step takes {showing.times_better(before.p50, after.p50)} less with its images prepared "
        f"by {workers} workers and copied ahead of use (p99 "
        f"{showing.times_better(before.p99, after.p99)})."
    )
    return showing.Shown(torch.cuda.get_device_name(0), (before, after), sentence)


if __name__ == "__main__":
    raise SystemExit(showing.run(__doc__, show))
