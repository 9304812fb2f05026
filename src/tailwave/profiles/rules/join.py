"""Counters and a recording together: what a kernel loses, times what it takes of a step.

Times are the recording's, shares the counters'. The gain for the step comes from the replay, with
the kernels as much shorter as their counters say.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tailwave.figures import percent, time
from tailwave.kernel_names import short
from tailwave.model import (
    Evidence,
    Finding,
    Flags,
    Floats,
    GpuKind,
    InTrace,
    Ints,
    KernelDiagnosis,
    KernelFinding,
)
from tailwave.profiles.rules.joining import Index, Match
from tailwave.recordings import (
    Added,
    Case,
    Change,
    Changed,
    Forecast,
    Program,
    counted,
    finding,
    gain,
    share_saved,
)

# What a grid of another size need not share.
_OF_THE_SHAPE = frozenset({"wave-tail", "small-grid", "sm-imbalance", "low-occupancy"})
_MOST_NAMED = 3
_WORTH_CORRECTING = 0.01  # of a step


class _Shape(msgspec.Struct, frozen=True):
    """The words for a cause that a grid's shape suggests, and that counters confirm or not."""

    title: str
    cost: str
    cured: str
    cures: tuple[str, ...]


_SHAPES = {
    "wave-tail": _Shape(
        "The last wave of CTAs leaves most SMs idle",
        "Part-filled last waves cost",
        "With whole waves",
        ("whole-waves", "persistent-kernel"),
    ),
    "small-grid": _Shape(
        "Grids too small for the chip leave SMs idle",
        "Grids smaller than the chip cost",
        "Spread over all SMs, at best",
        ("split-work", "merge-small-grids"),
    ),
}


class _Joined(msgspec.Struct):
    """For each GPU row its profile, -1 for none; and how each profile was found, or why not."""

    profile: Ints
    same_shape: Ints
    how: dict[int, str]
    refused: list[str]


class Join:
    """Attaches kernel diagnoses to whatever recording is diagnosed with it."""

    def __init__(self, kernels: Sequence[KernelDiagnosis]) -> None:
        """Keep the kernels' diagnoses."""
        self._kernels = tuple(kernels)
        self._index = Index(kernels)

    def __call__(self, case: Case, forecast: Forecast) -> Added:
        """Say what the profiled kernels cost the recording's step."""
        joined = self._join(case)
        placed = tuple(
            msgspec.structs.replace(kernel, in_trace=_place(case, forecast, joined, number))
            for number, kernel in enumerate(self._kernels)
        )
        codes = dict.fromkeys(f.code for kernel in placed for f in kernel.findings)
        found = [
            _of_step(case, forecast, joined, placed, code) for code in codes if code not in _SHAPES
        ]
        known = [code for code in _SHAPES if _counted_rows(case, joined, placed, code).any()]
        found += [_of_shape(case, forecast, joined, placed, code) for code in known]
        return Added(
            findings=tuple(one for one in found if one is not None),
            kernels=tuple(sorted(placed, key=_lost_of_step, reverse=True)),
            notes=tuple(_notes(case, joined, placed)),
            instead=frozenset(known),
        )

    def _join(self, case: Case) -> _Joined:
        """Find each GPU row's profile, once for each name and shape."""
        gpu = case.timeline.gpu
        mine = np.flatnonzero((gpu.kind == GpuKind.KERNEL) & (gpu.device == case.device.index))
        joined = _Joined(
            profile=np.full(len(gpu), -1, dtype=np.int64),
            same_shape=np.zeros(len(gpu), dtype=np.int64),
            how={},
            refused=[],
        )
        if len(mine) == 0:
            return joined
        keys = np.column_stack([gpu.name[mine], gpu.grid[mine], gpu.block[mine]])
        unique, which = np.unique(keys, axis=0, return_inverse=True)
        found = [self._match(case, joined, *key) for key in unique.tolist()]
        joined.profile[mine] = np.array([m.profile if m else -1 for m in found])[which.ravel()]
        joined.same_shape[mine] = np.array([m is not None and m.same_shape for m in found])[
            which.ravel()
        ]
        return joined

    def _match(self, case: Case, joined: _Joined, name: int, grid: int, block: int) -> Match | None:
        """Find a profile, and keep how it was found, or why it was refused."""
        text = case.timeline.names[name]
        match = self._index.find(text, grid, block)
        if isinstance(match, Match):
            joined.how.setdefault(match.profile, match.how)
            return match
        if match:
            joined.refused.append(f"{short(text)} (grid {grid:,}): {match}")
        return None


def _lost_of_step(kernel: KernelDiagnosis) -> tuple[bool, float]:
    """Return whether a kernel is in the step, and the time (us) that it loses of one."""
    place = kernel.in_trace
    share = kernel.findings[0].share if kernel.findings else 0.0
    return place is not None, place.step_us * share if place else 0.0


def _place(case: Case, forecast: Forecast, joined: _Joined, number: int) -> InTrace | None:
    rows = case.gpu_rows & (joined.profile == number)
    if not rows.any():
        return None
    took = _took_us(case, rows.nonzero()[0])
    return InTrace(
        calls=int(rows.sum()),
        step_us=took,
        step_share=_part(took, forecast.now_us),
        matched_by=joined.how[number],
    )


def _took_us(case: Case, rows: Ints) -> float:
    gpu = case.timeline.gpu
    return float((gpu.end[rows] - gpu.start[rows]).sum()) / 1e3


def _part(part: float, whole: float) -> float:
    return min(part / whole, 1.0) if whole > 0 else 0.0


def _of_step(
    case: Case,
    forecast: Forecast,
    joined: _Joined,
    kernels: tuple[KernelDiagnosis, ...],
    code: str,
) -> Finding | None:
    """Word what a cause, cured in every kernel that has it, brings the step."""
    lost = _lost(joined, kernels, code)
    costs = {
        number: float(lost[rows[0]]) * _took_us(case, rows)
        for number in range(len(kernels))
        if len(rows := np.flatnonzero(case.gpu_rows & (joined.profile == number) & (lost > 0)))
    }
    if not costs:
        return None
    ranked = sorted(costs, key=lambda number: -costs[number])
    worst, cause = kernels[ranked[0]], _cause(kernels[ranked[0]], code)
    after = forecast.after(_without(lost)).step_us
    return finding(
        forecast,
        code=code,
        title=cause.title,
        claim=(
            f"{_words(forecast, worst, costs[ranked[0]])} {cause.claim} Cured in "
            f"{counted(len(costs), 'kernel', 'kernels')}, {gain(forecast, after)} "
            f"({share_saved(forecast, after)} less)."
        ),
        after_us=after,
        evidence=[
            *(
                Evidence(f"lost by {short(kernels[number].name)}", costs[number], "us")
                for number in ranked[:_MOST_NAMED]
            ),
            *cause.evidence,
        ],
        cures=cause.cures,
    )


def _counted_rows(
    case: Case, joined: _Joined, kernels: tuple[KernelDiagnosis, ...], code: str
) -> Flags:
    """Tell of which GPU rows of the step the counters answer a question about their shape."""
    answers = [all(one.code != code for one in kernel.unanswered) for kernel in kernels]
    answered = np.array([*answers, False])[joined.profile]
    return np.asarray(case.gpu_rows & answered & (joined.same_shape > 0), dtype=bool)


def _of_shape(
    case: Case,
    forecast: Forecast,
    joined: _Joined,
    kernels: tuple[KernelDiagnosis, ...],
    code: str,
) -> Finding | None:
    """Word what grids cost: by counters where there are any, else by the shape as recorded."""
    words, by_shape = _SHAPES[code], _by_shape(case, code)
    counted_rows = _counted_rows(case, joined, kernels, code)
    everywhere = (joined.same_shape > 0) & np.isin(joined.profile, joined.profile[counted_rows])
    lost = np.where(everywhere, _lost(joined, kernels, code), by_shape)
    seen = _lost_us(case, lost, counted_rows)
    guessed = _lost_us(case, lost, case.gpu_rows & ~counted_rows)
    expected = _lost_us(case, by_shape, counted_rows)
    after = forecast.after(_without(lost)).step_us
    return finding(
        forecast,
        code=code,
        title=words.title,
        claim=(
            f"{words.cost} up to {share_saved(forecast, after)} of each step. {words.cured} "
            f"{gain(forecast, after)}."
        ),
        after_us=after,
        evidence=[
            Evidence("in profiled kernels, by their counters", seen, "us"),
            Evidence("that their grids alone would suggest", expected, "us"),
            Evidence("in other kernels, as their grids suggest", guessed, "us"),
        ],
        cures=words.cures,
    )


def _by_shape(case: Case, code: str) -> Floats:
    """Return the share of each GPU row that its grid alone suggests to be lost."""
    gpu = case.timeline.gpu
    lost = case.losses.tail if code == "wave-tail" else case.losses.small
    return np.asarray(lost / np.maximum(gpu.end - gpu.start, 1), dtype=np.float64)


def _lost_us(case: Case, lost: Floats, rows: Flags) -> float:
    """Return the time that shares of some GPU rows are (us)."""
    gpu = case.timeline.gpu
    return float((lost * (gpu.end - gpu.start))[rows].sum()) / 1e3


def _words(forecast: Forecast, kernel: KernelDiagnosis, lost_us: float) -> str:
    """Word what a kernel takes of the step, and what of that is lost."""
    place = kernel.in_trace
    took = place.step_us if place else 0.0
    return (
        f"{short(kernel.name)} is {percent(_part(took, forecast.now_us))} of the step and loses "
        f"{percent(_part(lost_us, took))} of that, {percent(_part(lost_us, forecast.now_us))} of "
        "the step."
    )


def _lost(joined: _Joined, kernels: tuple[KernelDiagnosis, ...], code: str) -> Floats:
    """Return the share that each GPU row loses to a cause, 0 for rows without it."""
    shares = np.array([_share(kernel, code) for kernel in kernels] + [0.0])
    lost = shares[joined.profile]
    if code in _OF_THE_SHAPE:
        lost = np.where(joined.same_shape > 0, lost, 0.0)
    return np.asarray(lost, dtype=np.float64)


def _share(kernel: KernelDiagnosis, code: str) -> float:
    return next((f.share for f in kernel.findings if f.code == code), 0.0)


def _cause(kernel: KernelDiagnosis, code: str) -> KernelFinding:
    return next(f for f in kernel.findings if f.code == code)


def _without(lost: Floats) -> Change:
    """Make GPU rows shorter by the shares that they lose."""

    def change(case: Case, program: Program) -> Changed:
        del case
        duration = program.duration * (1.0 - lost[program.row])
        return Changed(msgspec.structs.replace(program, duration=duration.astype(np.int64)))

    return change


def _notes(case: Case, joined: _Joined, kernels: tuple[KernelDiagnosis, ...]) -> list[str]:
    """Say what was not joined, and what was joined with a doubt."""
    notes = []
    missing = [short(kernel.name) for kernel in kernels if kernel.in_trace is None]
    if missing:
        notes.append(f"Profiled, but not in the recording's step: {_listed(missing)}.")
    notes += [
        f"{short(kernel.name)} was matched {kernel.in_trace.matched_by}."
        for kernel in kernels
        if kernel.in_trace and kernel.in_trace.matched_by != "by name, grid and block"
    ]
    if joined.refused:
        notes.append(f"Not matched, for it is not clear with what: {_listed(joined.refused)}.")
    notes += _corrected(case, joined, kernels)
    notes += _unprofiled(case, joined)
    return [*notes, *_devices(case, kernels)]


def _corrected(case: Case, joined: _Joined, kernels: tuple[KernelDiagnosis, ...]) -> list[str]:
    """Say where counters contradict what grids suggest, which the step's division still counts."""
    notes = []
    for code in _SHAPES:
        rows = _counted_rows(case, joined, kernels, code)
        suggested = _lost_us(case, _by_shape(case, code), rows)
        seen = _lost_us(case, _lost(joined, kernels, code), rows)
        if suggested - seen >= _WORTH_CORRECTING * case.step_us:
            notes.append(
                f"Of {code}, grids suggest {time(suggested)} a step in profiled kernels; their "
                f"counters show {time(seen)}, which the findings count from."
            )
    return notes


def _unprofiled(case: Case, joined: _Joined) -> list[str]:
    gpu = case.timeline.gpu
    kernels = case.gpu_rows & (gpu.kind == GpuKind.KERNEL)
    rows = np.flatnonzero(kernels & (joined.profile < 0))
    if len(rows) == 0:
        return []
    part = _part(_took_us(case, rows), _took_us(case, np.flatnonzero(kernels)))
    longest = sorted(rows.tolist(), key=lambda row: int(gpu.start[row] - gpu.end[row]))
    names = list(dict.fromkeys(short(case.name_of_gpu(row)) for row in longest))
    return [f"Kernels without a profile are {percent(part)} of kernel time: {_listed(names)}."]


def _devices(case: Case, kernels: tuple[KernelDiagnosis, ...]) -> list[str]:
    ours = case.device.name
    others = {k.device.name for k in kernels if k.device and k.device.name} - {ours}
    if not ours or not others:
        return []
    theirs = ", ".join(sorted(others))
    return [f"The recording is of {ours}, the profile of {theirs}: shares may differ."]


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
