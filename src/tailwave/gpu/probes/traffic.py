"""Streams of reads or writes from chosen SMs to lines in L2, and what came through."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tailwave.gpu.devices.base import Buffer, DeviceFailedError
from tailwave.gpu.probes.lab import Lab
from tailwave.model import Ints

_THREADS = 1024
_ATTEMPTS = 3


class Flow(msgspec.Struct, frozen=True):
    """What each of some SMs moved: amount, start and end on the global timer (ns), cycles."""

    amount: Ints
    start: Ints
    end: Ints
    cycles: Ints

    @property
    def rate(self) -> float:
        """All that was moved over the time from the first start to the last end (per ns)."""
        return float(self.amount.sum() / (self.end.max() - self.start.min()))

    @property
    def per_clock(self) -> float:
        """What an SM moved per cycle of its clock, the mean over SMs."""
        return float((self.amount / self.cycles).mean())

    @property
    def fairness(self) -> float:
        """The rate of the slowest SM over that of the fastest."""
        rates = self.amount / (self.end - self.start)
        return float(rates.min() / rates.max())


def stream(lab: Lab, kernel: str, data: Buffer, passes: int, sms: Sequence[int]) -> Flow:
    """Let SMs go ``passes`` times through all of ``data`` at once; ``kernel`` is read or write."""
    return flow(lab, kernel, _THREADS, (data, data.words, passes), sms)


def flow(lab: Lab, kernel: str, threads: int, args: tuple[object, ...], sms: Sequence[int]) -> Flow:
    """Run a kernel that reports four words by SM, on some SMs. Raises DeviceFailedError."""
    span = lab.sms[-1] + 1
    with lab.words(4 * span) as out, lab.words(span) as mask:
        mask.write(lab.mask(sms))
        for _ in range(_ATTEMPTS):
            out.write(np.zeros(4 * span, dtype=np.uint64))
            lab.run_everywhere(kernel, threads, out, *args, mask)
            rows = out.read().reshape(span, 4)[list(sms)].astype(np.int64)
            if (rows[:, 3] > 0).all() and (rows[:, 2] > rows[:, 1]).all():
                return Flow(*rows.T)
    raise DeviceFailedError(f"Of {len(sms)} SMs not all ran the kernel {kernel}.")
