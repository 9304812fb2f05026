"""A recording's step with the profile of each of its kernels: what they take of it, and lose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from tailwave.kernel_names import short
from tailwave.model import Flags, Floats, GpuKind, InTrace, Ints, KernelDiagnosis
from tailwave.profiles.join.matching import Index, Match
from tailwave.recordings import Case, Forecast

# What a grid of another size need not share.
_OF_THE_SHAPE = frozenset({"wave-tail", "small-grid", "sm-imbalance", "low-occupancy"})


class ProfiledStep:
    """A step whose GPU rows know their profiles; ``refused`` says of which it is not clear.

    ``kernels`` are the diagnoses with their place in the step. Shares of rows are of their time, 0
    to 1, for all rows of the recording.
    """

    def __init__(
        self, case: Case, forecast: Forecast, kernels: Sequence[KernelDiagnosis], index: Index
    ) -> None:
        """Find each GPU row's profile, once for each name and shape."""
        self.case, self.forecast = case, forecast
        self.refused: list[str] = []
        self._matched_by: dict[int, str] = {}
        gpu = case.timeline.gpu
        self._span = gpu.end - gpu.start
        self.profile: Ints = np.full(len(gpu), -1, dtype=np.int64)  # -1 for none
        self.same_shape: Flags = np.zeros(len(gpu), dtype=bool)
        ours = np.flatnonzero((gpu.kind == GpuKind.KERNEL) & (gpu.device == case.device.index))
        keys = np.column_stack([gpu.name[ours], gpu.grid[ours], gpu.block[ours]])
        unique, which = np.unique(keys, axis=0, return_inverse=True)
        for number, key in enumerate(unique.tolist()):
            if (match := self._match(index, *key)) is not None:
                rows = ours[which.ravel() == number]
                self.profile[rows], self.same_shape[rows] = match.profile, match.same_shape
        self.kernels = tuple(
            replace(kernel, in_trace=self._place(number)) for number, kernel in enumerate(kernels)
        )

    def _match(self, index: Index, name: int, grid: int, block: int) -> Match | None:
        """Find a profile, and keep how it was found, or why it was refused."""
        text = self.case.timeline.names[name]
        match = index.find(text, grid, block)
        if isinstance(match, Match):
            self._matched_by.setdefault(match.profile, match.how)
            return match
        if match:
            self.refused.append(f"{short(text)} (grid {grid:,}): {match}")
        return None

    def _place(self, number: int) -> InTrace | None:
        rows = self.rows_of(number)
        if not rows.any():
            return None
        took = self.time_us(rows)
        return InTrace(
            calls=round(rows.sum() / len(self.case.steps), 1),
            step_us=took,
            step_share=part(took, self.forecast.now.us),
            matched_by=self._matched_by[number],
        )

    def rows_of(self, number: int) -> Flags:
        """Tell which GPU rows of the steps are launches of a profiled kernel."""
        return np.asarray(self.case.gpu_rows & (self.profile == number), dtype=bool)

    def time_us(self, rows: Flags, shares: Floats | float = 1.0) -> float:
        """Return the time of some GPU rows in a step, or of these shares of it (us)."""
        return self.case.a_step((self._span * shares)[rows].sum())

    def lost(self, code: str) -> Floats:
        """Return the share that each GPU row loses to a cause by its counters, else 0."""
        each = [_share(kernel, code) for kernel in self.kernels]
        shares = np.array([*each, 0.0])[self.profile]
        if code in _OF_THE_SHAPE:
            shares = np.where(self.same_shape, shares, 0.0)
        return np.asarray(shares, dtype=np.float64)

    def suggested(self, code: str) -> Floats:
        """Return the share of each GPU row that its grid alone suggests to be lost."""
        losses = self.case.losses
        lost = losses.tail if code == "wave-tail" else losses.small
        return np.asarray(lost / np.maximum(self._span, 1), dtype=np.float64)

    def counted_rows(self, code: str) -> Flags:
        """Tell of which GPU rows of the step the counters answer a question on their shape."""
        answers = [all(one.code != code for one in kernel.unanswered) for kernel in self.kernels]
        answered = np.array([*answers, False])[self.profile]
        return np.asarray(self.case.gpu_rows & answered & self.same_shape, dtype=bool)


def part(one: float, whole: float) -> float:
    """Return what part of the whole a time is, 1 at most; 0 of nothing."""
    return min(one / whole, 1.0) if whole > 0 else 0.0


def _share(kernel: KernelDiagnosis, code: str) -> float:
    return next((f.share for f in kernel.findings if f.code == code), 0.0)
