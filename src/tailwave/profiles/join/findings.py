"""What profiled kernels cost a recording's step, a finding a cause."""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.figures import percent
from tailwave.kernel_names import short
from tailwave.model import Evidence, Finding, Floats, KernelDiagnosis
from tailwave.profiles.join.step import ProfiledStep, part
from tailwave.recordings import (
    Case,
    Change,
    Changed,
    Program,
    counted,
    finding,
    worth_of,
)

_MOST_NAMED = 3


class _Words(msgspec.Struct, frozen=True):
    """The words for a cause that a grid's shape suggests, and that counters confirm or not."""

    title: str
    cost: str
    cured: str
    cures: tuple[str, ...]


GRID_CAUSES = {
    "wave-tail": _Words(
        "The last wave of CTAs leaves most SMs idle",
        "Part-filled last waves cost",
        "With whole waves",
        ("whole-waves", "persistent-kernel"),
    ),
    "small-grid": _Words(
        "Grids too small for the chip leave SMs idle",
        "Grids smaller than the chip cost",
        "Spread over all SMs, at best",
        ("split-work", "merge-small-grids"),
    ),
}


def of_kernels(step: ProfiledStep, code: str) -> Finding | None:
    """Word what a cause, cured in every kernel that has it, brings the step; None if no row has."""
    lost = step.lost(code)
    costs = {
        number: cost
        for number in range(len(step.kernels))
        if (cost := step.time_us(step.rows_of(number), lost)) > 0
    }
    if not costs:
        return None
    ranked = sorted(costs, key=lambda number: -costs[number])
    worst = step.kernels[ranked[0]]
    cause = next(f for f in worst.findings if f.code == code)
    brings = worth_of(step.forecast, _without(lost), sum(costs.values()))
    return finding(
        brings,
        code=code,
        title=cause.title,
        claim=(
            f"{_loss(step, worst, costs[ranked[0]])} {cause.claim} Cured in "
            f"{counted(len(costs), 'kernel', 'kernels')}, {brings.gain} "
            f"({brings.part} less)."
        ),
        evidence=[
            *(
                Evidence(f"lost by {short(step.kernels[number].name)}", costs[number], "us")
                for number in ranked[:_MOST_NAMED]
            ),
            *cause.evidence,
        ],
        cures=cause.cures,
    )


def of_grids(step: ProfiledStep, code: str) -> Finding | None:
    """Word what grids cost: by counters where there are any, else by the shape as recorded."""
    words, suggested = GRID_CAUSES[code], step.suggested(code)
    rows, counted_rows = step.case.gpu_rows, step.counted_rows(code)
    everywhere = step.same_shape & np.isin(step.profile, step.profile[counted_rows])
    lost = np.where(everywhere, step.lost(code), suggested)
    brings = worth_of(step.forecast, _without(lost), step.time_us(rows, lost))
    return finding(
        brings,
        code=code,
        title=words.title,
        claim=(f"{words.cost} up to {brings.part} of each step. {words.cured} {brings.gain}."),
        evidence=[
            Evidence(what, step.time_us(which, shares), "us")
            for what, which, shares in (
                ("in profiled kernels, by their counters", counted_rows, lost),
                ("that their grids alone would suggest", counted_rows, suggested),
                ("in other kernels, as their grids suggest", rows & ~counted_rows, lost),
            )
        ],
        cures=words.cures,
    )


def _loss(step: ProfiledStep, kernel: KernelDiagnosis, lost_us: float) -> str:
    """Word what a kernel takes of the step, and what of that is lost."""
    took, now = kernel.in_trace.step_us if kernel.in_trace else 0.0, step.forecast.now.us
    return (
        f"{short(kernel.name)} is {percent(part(took, now))} of the step and loses "
        f"{percent(part(lost_us, took))} of that, {percent(part(lost_us, now))} of the step."
    )


def _without(lost: Floats) -> Change:
    """Make GPU rows shorter by the shares that they lose."""

    def change(_: Case, program: Program) -> Changed:
        duration = program.duration * (1.0 - lost[program.row])
        return Changed(msgspec.structs.replace(program, duration=duration.astype(np.int64)))

    return change
