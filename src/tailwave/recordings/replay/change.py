"""What a what-if is: a small function from a program to a changed program."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec
import numpy as np

from tailwave.model import Flags, Ints
from tailwave.recordings.replay.program import Program, expanded
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.hostwork import Activity


class Changed(msgspec.Struct, frozen=True):
    """A changed program, and what the change assumed, left out or refused (sentences)."""

    program: Program
    notes: tuple[str, ...] = ()


Change: TypeAlias = Callable[[Case, Program], Changed]


def call_names(case: Case, program: Program) -> Ints:
    """For each action the code of its call's name; -1 for a step boundary."""
    names = np.full(len(program.lane), -1, dtype=np.int64)
    calls = program.host_row >= 0
    names[calls] = case.timeline.host.name[program.host_row[calls]]
    return names


def a_step(count: int, program: Program) -> str:
    """Word how often something happens: "30 a step", or "1 in 120 steps" where it is rarer."""
    if count < program.step_count:
        return f"{count} in {program.step_count} steps"
    return f"{round(count / max(program.step_count, 1), 1):g} a step"


def in_steps(program: Program) -> Flags:
    """Tell which actions lie within the steps; outside nothing is changed."""
    return np.asarray((program.step >= 0) & (program.step < program.step_count), dtype=bool)


def without_work(program: Program, actions: Flags, activities: tuple[Activity, ...]) -> Program:
    """Take away the host time of some activities before some actions."""
    work = program.work.copy()
    for activity in activities:
        work[actions, activity] = 0
    return msgspec.structs.replace(program, work=work)


def without_targets(program: Program, actions: Flags) -> Program:
    """Let some actions no longer wait for GPU rows."""
    owner = expanded(program.targets)[1]
    keep = ~actions[owner]
    before = np.concatenate([[0], np.cumsum(keep)])
    return msgspec.structs.replace(
        program,
        targets=before[program.targets],
        target_row=program.target_row[keep],
        target_lag=program.target_lag[keep],
    )


def waits(program: Program) -> Flags:
    """Tell which actions wait for GPU rows."""
    return np.asarray(program.targets[:, 1] > program.targets[:, 0], dtype=bool)


def issues(program: Program) -> Flags:
    """Tell which actions issue GPU rows."""
    return np.asarray(program.rows[:, 1] > program.rows[:, 0], dtype=bool)


def issuer(program: Program) -> Ints:
    """For each GPU row the action that issues it; -1 if none does."""
    result = np.full(len(program.row), -1, dtype=np.int64)
    owned, owner = expanded(program.rows)
    result[owned] = owner
    return result


def drop_idle_issuers(program: Program, issued_before: Flags) -> Program:
    """Take away the host cost of actions that issued rows before a change and now issue none."""
    idle = issued_before & ~issues(program) & ~waits(program)
    hold = program.hold.copy()
    hold[idle] = 0
    return without_work(
        msgspec.structs.replace(program, hold=hold), idle, (Activity.ISSUE, Activity.STRETCHED)
    )
