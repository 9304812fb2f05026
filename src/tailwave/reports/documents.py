"""JSON documents: a noun field by field, with the number of its format and the tool before it.

What is not known is null, never 0 and never NaN. Figures keep nine digits, which is more than any
of them is good for: the rest is noise of binary fractions.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec

from tailwave import __version__
from tailwave.model import Diagnosis, Explanation, Predictions, RecordingComparison, Trial
from tailwave.model.values import UNKNOWN
from tailwave.reports.check_document import CheckDocument
from tailwave.reports.compare_document import ComparisonDocument

_DIGITS: Final = 9


class Format(NamedTuple):
    """What a document is called, the commands that print it, and the number of its format.

    The number counts changes that break a program which reads the document: a value or a field that
    is renamed or gone. A new field is none.
    """

    name: str
    commands: str
    number: int


FORMATS: Final[dict[type[msgspec.Struct], Format]] = {
    Diagnosis: Format("diagnosis", "tailwave diagnose --json", 3),
    Predictions: Format("predictions", "tailwave whatif --json", 3),
    CheckDocument: Format("check", "tailwave check --json, tailwave show --json", 1),
    ComparisonDocument: Format("comparison", "tailwave compare --json", 1),
    RecordingComparison: Format(
        "recording_comparison", "tailwave compare --json, of recordings", 1
    ),
    Trial: Format("trial", "tailwave try --json, tailwave fix --json", 3),
    Explanation: Format("explanation", "tailwave explain --json", 2),
}


def as_document(value: object) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """Return a Struct, or a value in one, as JSON's own types."""
    match value:
        case msgspec.Struct():
            return _as_object(value)
        case tuple() | list():
            return [as_document(item) for item in value]
        case dict():
            return {as_document(key): as_document(item) for key, item in value.items()}
        case str():  # also a member of an enumeration; a file's name need not be UTF-8, JSON is
            return value.encode(errors="replace").decode()
        case float():
            return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    return value


def _as_object(noun: msgspec.Struct) -> dict[str, Any]:
    fields = ((name, getattr(noun, name), unknown) for name, unknown in _unknown(type(noun)))
    written = {
        name: None if value == unknown else as_document(value) for name, value, unknown in fields
    }
    described = FORMATS.get(type(noun))
    if described is None:
        return written
    tool = {"name": "tailwave", "version": __version__}
    return {"schema": described.number, "tool": tool, **written}


@cache
def _unknown(noun: type[msgspec.Struct]) -> list[tuple[str, str | int | None]]:
    """Return a Struct's fields, each with the value that it has where it is not known."""
    return [(field.name, _unknown_of(field.type)) for field in msgspec.structs.fields(noun)]


def _unknown_of(annotation: object) -> str | int | None:
    said = (meta.extra_json_schema or {} for meta in getattr(annotation, "__metadata__", ()))
    return next((one[UNKNOWN] for one in said if UNKNOWN in one), None)
