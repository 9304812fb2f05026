"""Fewer steps to replay, where a recording has very many: each stands for several.

Every slow step is kept, for what it costs is not to be had from others. Of the usual ones so many
are kept, evenly spread, as make runs of some hundredths of a second; each is weighed by how many it
stands for.
The kept steps follow each other as if nothing had been between them, which a program allows: its
host work is counted from the action before.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import Flags, Floats, Ints
from tailwave.recordings.replay.program import Program, expanded

# Actions and GPU rows that are replayed without further thought.
ENOUGH_EVENTS = 30_000
# Usual steps that are kept at least, however long they are.
_LEAST_STEPS = 16
# A step is slow from this many times the median on.
SLOW_STEP = 1.5


def sampled(program: Program, duration: Ints) -> tuple[Program, Ints]:
    """Thin a program whose steps took ``duration`` (ns) each, if it is very large.

    Returns it with the numbers of the steps that it consists of.
    """
    weight = _weights(program, duration)
    kept = np.flatnonzero(weight > 0)
    return (program if len(kept) == len(weight) else thinned(program, weight)), kept


def slow_steps(duration: Ints) -> Flags:
    """Tell which steps took far longer than the usual one."""
    return np.asarray(duration > SLOW_STEP * np.median(duration), dtype=bool)


def _weights(program: Program, duration: Ints) -> Floats:
    """How many steps each step is to stand for; 0 for those left out."""
    steps = len(duration)
    affordable = max(_LEAST_STEPS, ENOUGH_EVENTS * steps // max(program.events, 1))
    weight = np.ones(steps)
    if steps <= affordable:
        return weight
    slow = slow_steps(duration)
    for group in (np.flatnonzero(slow), np.flatnonzero(~slow)):
        kept = min(len(group), affordable // 2)
        chosen = group[np.linspace(0, len(group) - 1, kept).astype(np.int64)]
        weight[group] = 0.0
        weight[chosen] = len(group) / max(kept, 1)
    # The first step shows what was under way when the recording began.
    if weight[0] == 0:
        weight[0] = 1.0
    return weight


def thinned(program: Program, weight: Floats) -> Program:
    """Keep the steps that have a weight."""
    kept = weight > 0
    number = np.cumsum(kept) - 1
    steps = len(weight)
    # The boundary at the end of a kept step is where the next kept one begins.
    opens = np.concatenate([[True], kept])
    mark = np.where(program.mark >= 0, np.append(np.cumsum(opens) - 1, -1)[program.mark], -1)
    inside = (program.step >= 0) & (program.step < steps)
    action = ~inside | kept[np.where(inside, program.step, 0)]
    action = np.where(program.mark >= 0, opens[program.mark], action)
    row = (program.row_step < 0) | kept[np.maximum(program.row_step, 0)]
    owned, owner = expanded(program.rows)
    row[owned] &= action[owner]
    thin = program.keep_rows(row).keep_actions(action)
    step = thin.step
    inside = (step >= 0) & (step < steps)
    number_of = np.append(number, kept.sum())
    return msgspec.structs.replace(
        thin,
        mark=mark[action],
        step=np.where(step < 0, step, number_of[np.clip(step, 0, steps)]),
        row_step=np.where(thin.row_step < 0, thin.row_step, number[np.maximum(thin.row_step, 0)]),
        weight=weight[kept],
    )
