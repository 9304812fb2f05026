"""Matrix products while another kernel holds four SMs, as a collective does.

Told to leave SMs free, the products should fit beside it: `sm-carveout` tells cuBLAS so, which
brings nothing where cuBLAS plans no differently for it.
"""

from __future__ import annotations

import time

import torch

import tailwave
from tailwave.gpu.devices import open_device
from tailwave.gpu.devices.base import Launch

HELD, WIDTH, PRODUCTS = 4, 4096, 4
STEPS = 1500
HOLD_S, AHEAD_S = 0.002, 0.006  # one launch holds the SMs so long; so much of that is queued
MOST = 2  # launches before a step: where each is waited for, none ever lies ahead
WORDS = 4  # that the kernel writes for each SM


def main(steps: int = STEPS) -> None:
    """Multiply, always beside the kernel that holds SMs."""
    torch.manual_seed(0)
    left, right = (
        torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16) * WIDTH**-0.5
        for _ in range(2)
    )
    torch.cuda.synchronize()
    device = open_device("cuda")
    beside, out = device.stream(), device.buffer(WORDS * HELD)
    # All the shared memory of an SM for one CTA: no product's CTA fits beside it.
    hold = Launch("spin", HELD, 32, (out, int(HOLD_S * 1e9)), shared=-1)
    held_until = time.perf_counter()
    for _ in range(steps):
        for _ in range(MOST):
            now = time.perf_counter()
            if held_until < now + AHEAD_S:
                device.launch(beside, hold)
                held_until = max(held_until, now) + HOLD_S
        for _ in range(PRODUCTS):
            product = left @ right
        torch.cuda.current_stream().synchronize()
        tailwave.step()
    device.close()
    tailwave.output("product", product[:64, :64])


if __name__ == "__main__":
    main()
