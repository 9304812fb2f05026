"""What a noun looks like to a person (text, HTML) and to a program (JSON)."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec
from rich.console import Console

from tailwave.model import (
    Comparison,
    Diagnosis,
    Explanation,
    Predictions,
    Printable,
    RecordingComparison,
    Session,
    Trial,
)
from tailwave.reports.check_document import CheckDocument
from tailwave.reports.check_terminal import render_check
from tailwave.reports.compare_document import ComparisonDocument
from tailwave.reports.compare_terminal import render_comparison
from tailwave.reports.documents import as_document
from tailwave.reports.explanation_terminal import render_explanation
from tailwave.reports.predictions_terminal import render_predictions
from tailwave.reports.recordings_terminal import render_recording_comparison
from tailwave.reports.terminal import render_diagnosis
from tailwave.reports.trial_terminal import render_trial

_HTML_WIDTH: Final = 80
_HTML: Final = '<pre style="line-height: normal; font-family: monospace">{code}</pre>'


class _Report(NamedTuple):
    """How one kind of noun is shown; ``Any`` is that noun."""

    render: Callable[[Any, Console], None]
    document: Callable[[Any], msgspec.Struct]


def _itself(noun: msgspec.Struct) -> msgspec.Struct:
    return noun


_REPORTS: Final[dict[type[Printable], _Report]] = {
    Diagnosis: _Report(render_diagnosis, _itself),
    Predictions: _Report(render_predictions, _itself),
    Session: _Report(render_check, CheckDocument.of),
    Comparison: _Report(render_comparison, ComparisonDocument.of),
    RecordingComparison: _Report(render_recording_comparison, _itself),
    Trial: _Report(render_trial, _itself),
    Explanation: _Report(render_explanation, _itself),
}


def render(noun: Printable, console: Console) -> None:
    """Print the report of a noun on a console."""
    _REPORTS[type(noun)].render(noun, console)


def to_dict(noun: Printable) -> dict[str, Any]:
    """Return the JSON document of a noun."""
    document: dict[str, Any] = as_document(_REPORTS[type(noun)].document(noun))
    return document


def to_json(noun: Printable) -> bytes:
    """Return the JSON document of a noun, indented, in UTF-8."""
    return msgspec.json.format(msgspec.json.encode(to_dict(noun)), indent=2)


def to_text(noun: Printable) -> str:
    """Return the report of a noun as plain text, of the width and letters that stdout has."""
    console = Console(color_system=None, force_jupyter=False, highlight=False)
    with console.capture() as capture:
        render(noun, console)
    return capture.get().rstrip("\n")


def to_html(noun: Printable) -> str:
    """Return the report of a noun as HTML: nothing but escaped text, and colours."""
    console = Console(
        file=io.StringIO(), width=_HTML_WIDTH, record=True, force_jupyter=False, highlight=False
    )
    render(noun, console)
    return console.export_html(inline_styles=True, code_format=_HTML)
