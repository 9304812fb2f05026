"""A small model in a stream of its own, beside a thread that queues large products without end.

The tenant's CTAs run for long, and a priority only orders those that wait: `stream-priority` must
show no gain. `partition:victim=32` gives the victim SMs of its own, and helps.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import torch

import tailwave

LAYERS, WIDTH, ROWS = 24, 1024, 128
TENANT_WIDTH, QUEUED = 8192, 8
STEPS = 250


@contextmanager
def tenant() -> Iterator[None]:
    """Keep the GPU full of large products, a few queued at a time."""
    stop, stream = threading.Event(), tailwave.stream("tenant")
    left, right, out = (
        torch.randn(TENANT_WIDTH, TENANT_WIDTH, device="cuda", dtype=torch.bfloat16)
        for _ in range(3)
    )
    torch.cuda.synchronize()

    def work() -> None:
        queued: deque[torch.cuda.Event] = deque()
        with torch.cuda.stream(stream):
            while not stop.is_set():
                torch.mm(left, right, out=out)
                queued.append(stream.record_event())
                if len(queued) >= QUEUED:
                    queued.popleft().synchronize()
        stream.synchronize()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def main(steps: int = STEPS) -> None:
    """Serve one request after another, each waited for."""
    torch.manual_seed(0)
    scale = (2 / WIDTH) ** 0.5
    stream = tailwave.stream("victim")
    layers = [
        torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16) * scale
        for _ in range(LAYERS)
    ]
    request = torch.randn(ROWS, WIDTH, device="cuda", dtype=torch.bfloat16)
    with tenant(), torch.cuda.stream(stream):
        for _ in range(steps):
            answer = request
            for layer in layers:
                answer = torch.relu(answer @ layer)
            stream.synchronize()
            tailwave.step()
    tailwave.output("answer", answer)


if __name__ == "__main__":
    main()
