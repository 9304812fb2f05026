"""What a step takes without the profiler, and what it would take under a change.

Every figure that a finding quotes comes from here: the recording is compiled into a program, the
profiler's own cost is taken off, and changes are run on what remains.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import GpuKind
from tailwave.recordings.replay.change import Change
from tailwave.recordings.replay.engine import run
from tailwave.recordings.replay.overhead import Overhead, unprofiled
from tailwave.recordings.replay.program import Program, same
from tailwave.recordings.replay.recorded import compile_program
from tailwave.recordings.timeline.calls import crosses_link
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.intervals import covered_by_group

# A replay that does not give the recorded step back within this share is not to be trusted.
IDENTITY_TOLERANCE = 0.05
# Kernels themselves take longer or shorter from run to run (clocks, memory): the least range given.
GPU_SPREAD = 0.05
_US_PER_MS = 1_000
# Copies that leave the GPU free meanwhile; one within it keeps its memory busy.


class Outlook(msgspec.Struct, frozen=True):
    """What a change would bring: the step after it (us), and what the change assumed."""

    step_us: float
    notes: tuple[str, ...]


class Forecast(msgspec.Struct, frozen=True):
    """A case that can be run again.

    ``now_us`` is the likely step time without the profiler, ``low_us`` to ``high_us`` its range;
    ``recorded_us`` the recorded one. ``identity_error`` is the worst relative error of any step
    when the recording is replayed unchanged.
    """

    case: Case
    recorded: Program
    likely: Program
    recorded_us: float
    now_us: float
    low_us: float
    high_us: float
    identity_error: float
    overhead: Overhead

    @property
    def sound(self) -> bool:
        """Whether the replay reproduces the recording, so that its predictions mean something."""
        return self.identity_error <= IDENTITY_TOLERANCE

    @property
    def unknown_cost(self) -> str:
        """What is to be said where the recorder's cost is not known and may matter, else ""."""
        milliseconds = self.low_us / _US_PER_MS
        low = f"{milliseconds:.2f} ms" if milliseconds >= 1 else f"{self.low_us:.0f} us"
        if self.overhead.known or self.low_us >= self.now_us * (1 - GPU_SPREAD):
            return ""
        kind = self.case.timeline.kind
        recorder = "tailwave's recorder" if kind == "record" else kind
        return (
            f"What {recorder} itself cost the host is not known and was not taken off: without it "
            f"a step may take as little as {low}."
        )

    def after(self, *changes: Change) -> Outlook:
        """Run the likely program under some changes, one upon the other."""
        program, notes = self.changed(*changes)
        if same(program, self.likely):
            return Outlook(self.now_us, notes)
        return Outlook(max(run(program).step_us, self._least(program)), notes)

    def _least(self, program: Program) -> float:
        """Time (us) that the GPU needs for a step when its streams overlap no more than recorded.

        Which streams depend on which is known only where it was binding, so a replay overlaps
        them too freely. Where the work of neighbouring steps overlapped too, the likely program
        needs less than that; a change then needs less in proportion.
        """
        likely = self._busy(self.likely)
        return self._busy(program) * min(1.0, self.now_us / likely if likely else 1.0)

    def _busy(self, program: Program) -> float:
        """Time (us) that the work of a step keeps the GPU busy, overlapping as recorded."""
        gpu = self.case.timeline.gpu
        names = self.case.timeline.names
        crosses = np.array([crosses_link(name) for name in names], dtype=bool)
        counted = program.counts & (program.row_step >= 0)
        counted &= ~((gpu.kind[program.row] == GpuKind.MEMCPY) & crosses[gpu.name[program.row]])
        rows, step = program.row[counted], program.row_step[counted]
        start, end, count = gpu.start[rows], gpu.end[rows], program.step_count
        busy = covered_by_group(start, end, step, count)
        recorded = np.bincount(step, weights=end - start, minlength=count)
        needed = np.bincount(step, weights=program.duration[counted], minlength=count)
        overlapped = np.divide(busy, recorded, out=np.ones(count), where=recorded > 0)
        return float(np.median(overlapped * needed)) / 1e3

    def changed(self, *changes: Change) -> tuple[Program, tuple[str, ...]]:
        """Apply changes to the likely program without running it."""
        program = self.likely
        notes: tuple[str, ...] = ()
        for change in changes:
            changed = change(self.case, program)
            program, notes = changed.program, (*notes, *changed.notes)
        return program, notes


def forecast(case: Case) -> Forecast:
    """Prepare a case for what-ifs."""
    recorded = compile_program(case.timeline, case.steps, case.attribution)
    replayed = run(recorded)
    length = np.maximum(case.steps.duration, 1)
    error = float(np.max(np.abs(replayed.step - case.steps.duration) / length))
    overhead = unprofiled(case, recorded)
    now = run(overhead.likely).step_us
    return Forecast(
        case=case,
        recorded=recorded,
        likely=overhead.likely,
        recorded_us=replayed.step_us,
        now_us=now,
        low_us=min(run(overhead.fastest).step_us, now * (1 - GPU_SPREAD)),
        high_us=max(run(overhead.slowest).step_us, now * (1 + GPU_SPREAD)),
        identity_error=error,
        overhead=overhead,
    )
