"""From the profile of a program's first run to a diagnosis."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from tailwave.cures.trials.run import Run
from tailwave.errors import UnreadableInputError
from tailwave.model import Diagnosis
from tailwave.recordings import diagnose, read


class Diagnosed(NamedTuple):
    """A diagnosis, or the sentence that says why there is none."""

    diagnosis: Diagnosis | None
    note: str = ""


def diagnosed(trace: str, run: Run) -> Diagnosed:
    """Diagnose the profile that a run recorded."""
    if not trace:
        return Diagnosed(None, f"Without a diagnosis: {_no_profile(run)}")
    try:
        diagnosis = diagnose(read(Path(trace)), "the program's first run")
    except UnreadableInputError as error:
        return Diagnosed(None, f"Without a diagnosis: {error}")
    return Diagnosed(diagnosis)


def _no_profile(run: Run) -> str:
    """Say why no profile was recorded, as the program's processes tell it."""
    for report in run.reports:
        profile: Any = report.get("profile")
        if isinstance(profile, dict) and profile.get("why_not"):
            return f"{profile['why_not']}."
    if not run.reports:
        return (
            "the program runs no Python that could be entered (python -E, -I and -S keep it shut), "
            "so it records no profile of itself and marks no steps."
        )
    return "the program recorded no profile of itself (it needs torch, and work on a GPU)."
