"""Nothing planted: kernels of about a millisecond that stream memory at full rate.

It starts in a second, without a framework, so that a trial of it can be repeated many times.
"""

from __future__ import annotations

import numpy as np

import tailwave
from tailwave.gpu.devices import open_device
from tailwave.gpu.devices.base import Launch

WORDS = 1 << 23  # 64 MiB: more than L2 holds
STEPS, PASSES = 200, 1  # each SM reads all of it in a pass
THREADS = 1024
OUT_WORDS = 4  # that the kernel writes for each SM


def main(steps: int = STEPS) -> None:
    """Read memory."""
    device = open_device("cuda")
    sms = device.facts.sm_count
    stream = device.stream()
    out, data, mask = device.buffer(OUT_WORDS * sms), device.buffer(WORDS), device.buffer(sms)
    mask.write(np.ones(sms, dtype=np.uint64))
    read = Launch("read", sms, THREADS, (out, data, WORDS, PASSES, mask), -1)
    for _ in range(steps):
        device.launch(stream, read)
        device.synchronize(stream)
        tailwave.step()
    device.close()


if __name__ == "__main__":
    main()
