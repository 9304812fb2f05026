"""What is right to say of a recording, and the five ways in which a diagnosis is held to it.

A recording is one row. Where an aspect of it is not right yet, its row says under ``missed`` what
is given instead; such a test may fail, and its line goes when it passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec
import pytest

from tailwave.errors import UnreadableInputError
from tailwave.model import Diagnosis
from tailwave.recordings.causes.diagnose import diagnose
from tailwave.recordings.readers import read

# A step's length is a matter of where it begins and ends; a share also of what is charged first.
_STEP_WITHIN = 0.02
_SHARE_WITHIN = 0.05
# A finding that brings less than this share of a step blames nobody.
_BLAME = 0.05


class Right(msgspec.Struct, frozen=True, kw_only=True):
    """What is right of one recording, or of the ranks of one; what is left out is not judged.

    Attributes:
        files: Under the folder of the recordings.
        says: What is right, in words.
        device: Words of the GPU's name.
        steps: How many there are.
        step_us: The mean step (us), within 2%.
        busy_us: Of it the GPU's (us), within 2%.
        shares: Parts of the mean step (us), within 5%.
        first: Codes one of which comes first; empty for no finding.
        part: Bounds of the share of the step that the first one is worth.
        found: Codes that are found, and bounds of the share that each is worth.
        innocent: Codes that must not be worth 5% of a step.
        words: What notes, claims and evidence speak of.
        unsaid: What they do not speak of.
        withheld: Whether anything is.
        missed: What is not right yet: the aspect, and what is given instead.
    """

    files: tuple[str, ...]
    says: str
    device: str = ""
    steps: int = -1
    step_us: float = 0.0
    busy_us: float = 0.0
    shares: dict[str, float] = {}
    first: tuple[str, ...] | None = None
    part: tuple[float, float] = (0.0, 1.0)
    found: dict[str, tuple[float, float]] = {}
    innocent: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    unsaid: tuple[str, ...] = ()
    withheld: bool | None = None
    missed: dict[str, str] = {}

    @property
    def name(self) -> str:
        """The recording's name without its ending."""
        return Path(self.files[0]).name.split(".")[0]


def judged(rows: Sequence[Right], aspect: str, *fields: str) -> pytest.MarkDecorator:
    """Run a test on the recordings of which something is known in this respect."""
    nothing = Right(files=(), says="")
    return pytest.mark.parametrize(
        "right",
        [
            pytest.param(
                row,
                id=row.name,
                marks=[pytest.mark.xfail(strict=False, reason=row.missed[aspect])]
                if aspect in row.missed
                else [],
            )
            for row in rows
            if any(getattr(row, field) != getattr(nothing, field) for field in fields)
        ],
    )


@cache
def diagnosed(folder: Path, files: tuple[str, ...]) -> Diagnosis | None:
    """Diagnose a recording, or the ranks of one; None where it is refused."""
    try:
        return diagnose(read([folder / file for file in files]), files[0])
    except UnreadableInputError:
        return None


def of(right: Right, folder: Path) -> Diagnosis:
    """Diagnose a recording that must be read."""
    diagnosis = diagnosed(folder, right.files)
    assert diagnosis is not None, right.says
    return diagnosis


def steps_are_right(diagnosis: Diagnosis, right: Right) -> None:
    """Compare the steps: how many, how long, and how long the GPU is busy; and the GPU's name."""
    if right.device:
        assert diagnosis.device is not None, right.says
        assert right.device in diagnosis.device.words, right.says
    steps = diagnosis.steps
    assert steps is not None, right.says
    if right.steps >= 0:
        assert steps.count == right.steps, right.says
    if right.step_us:
        assert steps.mean_us == pytest.approx(right.step_us, rel=_STEP_WITHIN), right.says
    if right.busy_us:
        assert steps.gpu_busy_us == pytest.approx(right.busy_us, rel=_STEP_WITHIN), right.says


def division_is_right(diagnosis: Diagnosis, right: Right) -> None:
    """Compare what the mean step's time goes to."""
    shares = {share.what: share.us for share in diagnosis.division}
    given = {code: shares.get(code, 0.0) for code in right.shares}
    assert given == pytest.approx(right.shares, rel=_SHARE_WITHIN), right.says


def findings_are_right(diagnosis: Diagnosis, right: Right) -> None:
    """Compare what comes first, what else is found, and who is not to be blamed."""
    worth = {finding.code: finding.share for finding in diagnosis.findings}
    if right.first is not None:
        codes = list(worth)
        assert (codes[0] in right.first) if right.first else not codes, (right.says, worth)
    if right.first:
        low, high = right.part
        assert low <= diagnosis.findings[0].share <= high, (right.says, worth)
    for code, (low, high) in right.found.items():
        assert low <= worth.get(code, 0.0) <= high, (right.says, worth)
    blamed = {code: share for code, share in worth.items() if code in right.innocent}
    assert max(blamed.values(), default=0.0) < _BLAME, (right.says, worth)


def words_are_right(diagnosis: Diagnosis, right: Right) -> None:
    """Look for what notes, claims and evidence speak of, and for what they must not."""
    findings = diagnosis.findings
    said = [*diagnosis.notes, *(finding.claim for finding in findings)]
    said += [piece.what for finding in findings for piece in finding.evidence]
    text = "\n".join(said)
    assert [word for word in right.words if word not in text] == [], (right.says, text)
    assert [word for word in right.unsaid if word in text] == [], (right.says, text)


def soundness_is_right(diagnosis: Diagnosis, right: Right) -> None:
    """Compare whether findings are withheld, because the recording cannot carry them."""
    assert bool(diagnosis.withheld) is right.withheld, right.says
