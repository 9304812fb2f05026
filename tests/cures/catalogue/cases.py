"""Programs, diagnoses and reports made up for cures."""

from __future__ import annotations

from typing import Any

from tailwave.cures.catalogue.base import (
    Cure,
    CureInProgram,
    Mechanism,
    Report,
    Setting,
    Task,
    Treatment,
)
from tailwave.model import (
    DeviceInfo,
    Diagnosis,
    Evidence,
    Finding,
    Severity,
    Source,
    StepsSummary,
    StepTime,
)

PLAIN = Setting(environment={}, cpus=16)
NO_PYTHON = Setting(environment={}, is_python=False)
UNENTERED = "It is applied inside Python, and the program runs none that could be entered."
UNREPORTED = "No process of the program reported it: it ran no Python that could be entered."
H200 = DeviceInfo(index=0, name="NVIDIA H200", sm_count=132)


def finding(
    code: str, share: float, *cures: str, evidence: str = "", step_us: float = 1000.0
) -> Finding:
    """A finding that costs this share of a step."""
    return Finding(
        code=code,
        severity=Severity.MAJOR,
        title="",
        claim="",
        step_us_now=step_us,
        step_us_after=step_us * (1 - share),
        recoverable_us=step_us * share,
        share=share,
        evidence=(Evidence(evidence, 1.0, "us"),) if evidence else (),
        cures=cures,
    )


def diagnosis(*findings: Finding, busy_us: float = 300.0, step_us: float = 1000.0) -> Diagnosis:
    """A diagnosis of steps that the GPU is busy in for so long."""
    return Diagnosis(
        source=Source("by hand", "kineto", 1, (0,)),
        device=H200,
        steps=StepsSummary(
            5, "ProfilerStep", step_us, step_us, step_us, step_us, step_us, busy_us, replayed=5
        ),
        now=StepTime(step_us, step_us, step_us, "recorded", recorded_us=step_us),
        division=(),
        findings=findings,
        notes=(),
    )


def acted(name: str, *, applied: bool = True, why_not: str = "", **seen: object) -> Report:
    """The report of a process that was to do one action."""
    told = {"applied": applied, "seen": seen, "why_not": why_not}
    return {"pid": 1, "actions": {name: told}, "environment": {}}


def reading(**environment: object) -> Report:
    """The report of a process that read its settings back."""
    return {"pid": 1, "actions": {}, "environment": environment}


def only_task(cure: CureInProgram, parameter: str, setting: Setting = PLAIN) -> dict[str, Any]:
    """The parameters of the one task that is all that a cure changes."""
    treatment = cure.treatment(parameter, setting)
    (task,) = treatment.tasks
    action = f"{cure.action.__module__}:{cure.action.__name__}"
    assert treatment == Treatment(tasks=(Task(cure.name, action, task.parameters),))
    return dict(task.parameters)


def unseen(cure: Cure, parameter: str = "") -> None:
    """Assert what an action says that no process reports, and one that was refused."""
    assert cure.mechanism(parameter, []) == Mechanism(works=False, sentence=UNREPORTED)
    refused = acted(cure.name, applied=False, why_not="the program does so itself")
    sentence = "The program does so itself."
    assert cure.mechanism(parameter, [refused]) == Mechanism(works=False, sentence=sentence)
