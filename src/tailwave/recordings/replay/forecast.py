"""What a step takes without the profiler, and what it would take under a change.

Every figure that a finding quotes comes from here: the recording is compiled into a program, the
profiler's own cost is taken off, and changes are run on what remains.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import Flags, Ints, Prediction, StepTime
from tailwave.recordings.replay.change import Change
from tailwave.recordings.replay.division import Cause, Division, divide
from tailwave.recordings.replay.engine import run
from tailwave.recordings.replay.measured import ImpossibleTimeError, at_measured
from tailwave.recordings.replay.overhead import GPU_SPREAD, unprofiled
from tailwave.recordings.replay.program import Program, same
from tailwave.recordings.replay.recorded import compile_program
from tailwave.recordings.replay.sample import sampled
from tailwave.recordings.timeline.calls import crosses_link, is_migration
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.intervals import covered_by_group

# A replay that does not give the recorded step back within this share is not to be trusted.
IDENTITY_TOLERANCE = 0.05
_US_PER_MS = 1_000


class Outlook(msgspec.Struct, frozen=True):
    """What a change would bring: the step after it (us), and what the change assumed."""

    step_us: float
    notes: tuple[str, ...]


class Forecast(msgspec.Struct, frozen=True):
    """A case that can be run again.

    ``recorded`` is the program whose run gives the recording back, of the steps ``replayed`` alone;
    ``likely`` the same without the recorder's cost, and ``now`` what a step of it takes.
    ``identity_error`` is by how much the recorded steps were missed when they were replayed
    unchanged, as a share of them; ``scale`` takes that off every step that is run. ``doubt`` is a
    sentence about the step now, where there is one to be said. ``answers`` keeps what was asked, by
    the names of the what-ifs.
    """

    case: Case
    division: Division
    recorded: Program
    replayed: Ints
    likely: Program
    now: StepTime
    identity_error: float
    scale: float
    doubt: str
    answers: dict[tuple[str, ...], Prediction]

    @property
    def sound(self) -> bool:
        """Whether the replay reproduces the recording, so that its predictions mean something."""
        return self.identity_error <= IDENTITY_TOLERANCE

    @property
    def doubts(self) -> tuple[str, ...]:
        """What is to be said of the step now: a measured time not used, a cost not known."""
        now, said = self.now, ((self.doubt,) if self.doubt else ())
        if now.by != "recorded" or now.low_us >= now.us * (1 - GPU_SPREAD):
            return said
        kind = self.case.timeline.kind
        recorder = "tailwave's recorder" if kind == "record" else kind
        milliseconds = now.low_us / _US_PER_MS
        low = f"{milliseconds:.2f} ms" if milliseconds >= 1 else f"{now.low_us:.0f} us"
        return (
            *said,
            (
                f"What {recorder} itself cost the host is not known and was not taken off: without "
                f"it a step may take as little as {low}."
            ),
        )

    def after(self, *changes: Change) -> Outlook:
        """Run the likely program under some changes, one upon the other."""
        program, notes = self.changed(*changes)
        if same(program, self.likely):
            return Outlook(self.now.us, notes)
        return Outlook(max(run(program).step_us * self.scale, self._least(program)), notes)

    def _least(self, program: Program) -> float:
        """Time (us) that the GPU needs for a step when its streams overlap no more than recorded.

        Which streams depend on which is known only where it was binding, so a replay overlaps
        them too freely. What the recorded step kept busy, a change shortens in proportion.
        """
        busy = self.division.us(Cause.KERNEL) + self.division.us(Cause.COLLECTIVE)
        names = self.case.timeline.names
        # Copies over the link leave the GPU free meanwhile; one within it keeps its memory busy.
        pages = np.array([is_migration(name) for name in names], dtype=bool)
        copies = np.array([crosses_link(name) for name in names], dtype=bool)
        moving = self.division.us(Cause.MIGRATION)
        return busy * self._shorter(program, ~pages & ~copies) + moving * self._shorter(
            program, pages
        )

    def _shorter(self, program: Program, names: Flags) -> float:
        """How much of the time of some rows, by their names, a change leaves."""
        likely = self._needed(self.likely, names)
        return self._needed(program, names) / likely if likely else 0.0

    def _needed(self, program: Program, names: Flags) -> float:
        """Time (ns) that rows of these names keep the GPU busy in a step, as they overlapped."""
        gpu = self.case.timeline.gpu
        counted = program.counts & (program.row_step >= 0) & names[gpu.name[program.row]]
        rows, step = program.row[counted], program.row_step[counted]
        start, end, count = gpu.start[rows], gpu.end[rows], program.step_count
        busy = covered_by_group(start, end, step, count)
        recorded = np.bincount(step, weights=end - start, minlength=count)
        needed = np.bincount(step, weights=program.duration[counted], minlength=count)
        overlapped = np.divide(busy, recorded, out=np.ones(count), where=recorded > 0)
        return float(np.average(overlapped * needed, weights=program.weight))

    def changed(self, *changes: Change) -> tuple[Program, tuple[str, ...]]:
        """Apply changes to the likely program without running it."""
        program = self.likely
        notes: tuple[str, ...] = ()
        for change in changes:
            changed = change(self.case, program)
            program, notes = changed.program, (*notes, *changed.notes)
        # What ran before the steps has run; it says when the first of them begins.
        gpu, before = self.case.timeline.gpu, program.row_step < 0
        recorded = (gpu.end - gpu.start)[program.row]
        duration = np.where(before, recorded, program.duration)
        return msgspec.structs.replace(program, duration=duration), notes


def forecast(case: Case) -> Forecast:
    """Prepare a case for what-ifs."""
    duration = case.steps.duration
    recorded, replayed = sampled(compile_program(case), duration)
    again = run(recorded)
    missed = np.average(np.abs(again.step - duration[replayed]), weights=recorded.weight)
    length = np.average(duration[replayed], weights=recorded.weight)
    scale = case.step_us / again.step_us if again.step_us else 1.0
    likely, now, doubt = _likely(case, recorded, scale)
    division = divide(case)
    # No step takes less than what keeps its GPU busy.
    busy = sum(map(division.us, (Cause.KERNEL, Cause.COLLECTIVE, Cause.MIGRATION)))
    if now.by != "measured" and now.us < busy:
        now = msgspec.structs.replace(now, us=busy, high_us=max(now.high_us, busy))
    return Forecast(
        case=case,
        division=division,
        recorded=recorded,
        replayed=replayed,
        likely=likely,
        now=now,
        identity_error=float(missed / max(length, 1)),
        scale=scale,
        doubt=doubt,
        answers={},
    )


def _likely(case: Case, recorded: Program, scale: float) -> tuple[Program, StepTime, str]:
    """Return the program without the recorder, its step, and what is in doubt about that."""
    measured_us, doubt = case.timeline.plain_step_us, ""
    if measured_us > 0:
        try:
            program = at_measured(case, recorded, round(measured_us * 1e3 / scale))
        except ImpossibleTimeError as impossible:
            doubt = f"The step's measured time is not used. {impossible}"
        else:
            us = run(program).step_us * scale
            return program, StepTime(us, us, us, "measured", case.step_us), ""
    overhead = unprofiled(case, recorded)
    us, low, high = (
        run(program).step_us * scale
        for program in (overhead.likely, overhead.fastest, overhead.slowest)
    )
    by = "estimated" if overhead.known else "recorded"
    return overhead.likely, StepTime(us, min(low, us), max(high, us), by, case.step_us), doubt
