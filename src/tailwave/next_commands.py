"""The command that a report ends with: what is most useful to type next."""

from __future__ import annotations

import shlex

from tailwave.model import Diagnosis, Prediction, Predictions, Recording, Severity
from tailwave.recordings.replay.whatif import WHATIFS, WhatIf

_TRACE = "--trace after.json.gz"
# A change of the step below this share is not worth a trial.
_WORTH_TRYING = 0.005
_WHATIFS = {name: whatif for whatif in WHATIFS for name in (whatif.name, *whatif.cures)}


def after_diagnosis(diagnosis: Diagnosis, recording: Recording) -> str:
    """See the first cure's prediction where it has one, else have the finding explained."""
    findings = [finding for finding in diagnosis.findings if finding.severity is not Severity.INFO]
    if not findings:
        return _without_finding(diagnosis, recording)
    predicted = [cure for cure in findings[0].cures if cure in _WHATIFS]
    if predicted:
        return f"{_whatif(recording)} --{predicted[0]} {_TRACE}"
    return f"tailwave explain {findings[0].code}"


def _without_finding(diagnosis: Diagnosis, recording: Recording) -> str:
    if diagnosis.steps is None:
        codes = [finding.code for kernel in diagnosis.kernels for finding in kernel.findings]
        return f"tailwave explain {codes[0]}" if codes else ""
    return "" if diagnosis.withheld else _whatif(recording)


def after_whatif(predictions: Predictions, recording: Recording) -> str:
    """See the best combination's timeline; of one that was asked for, have its cure tried."""
    best = predictions.combined or predictions.what_ifs[0]
    if best.recoverable_us < _WORTH_TRYING * best.step_us_now:
        return ""
    if len(predictions.what_ifs) > 1:
        flags = " ".join(f"--{name}" for name in best.names)
        return f"{_whatif(recording)} {flags} {_TRACE}"
    cures = _tried(best)
    if not cures:
        return ""
    if predictions.source.kind == "kineto":  # PyTorch's profiler: the program is a script
        return f"tailwave try --cure {cures[0]} SCRIPT.py"
    return f"tailwave fix --cure {cures[0]} -- COMMAND"


def _tried(prediction: Prediction) -> list[str]:
    """Return the cures of a prediction that a trial can apply."""
    from tailwave.cures.catalogue import CURES  # noqa: PLC0415 - slow to import, seldom wanted

    names = {cure.name for cure in CURES}
    whatifs: list[WhatIf] = [_WHATIFS[name] for name in prediction.names if name in _WHATIFS]
    return [name for one in whatifs for name in (one.name, *one.cures) if name in names]


def _whatif(recording: Recording) -> str:
    return shlex.join(("tailwave", "whatif", *map(str, recording.paths)))
