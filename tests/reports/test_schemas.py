"""The schemas that the package ships are those of its documents."""

from __future__ import annotations

import json

import jsonschema
import msgspec
import pytest

from tailwave.model import Diagnosis
from tailwave.reports.documents import FORMATS
from tailwave.reports.schemas import path_of, schema_of

each_document = pytest.mark.parametrize(
    "document", FORMATS, ids=[described.name for described in FORMATS.values()]
)


@each_document
def test_the_kept_schema_is_that_of_the_document(document: type[msgspec.Struct]) -> None:
    """Whoever changes a document renews its schema, and with it sees what others will see."""
    kept = path_of(FORMATS[document]).read_bytes()
    assert kept == schema_of(document), "run `make schemas` (python -m tailwave.reports.schemas)"


@each_document
def test_a_schema_is_valid_and_says_what_everything_is(document: type[msgspec.Struct]) -> None:
    """It is a JSON Schema of draft 2020-12; each field of its own is described and required."""
    schema = json.loads(schema_of(document))
    jsonschema.Draft202012Validator.check_schema(schema)
    definition = schema["$defs"][document.__name__]
    fields = [field.name for field in msgspec.structs.fields(document)]
    assert definition["required"] == ["schema", "tool", *fields]
    assert [name for name in fields if "description" not in definition["properties"][name]] == []


def test_descriptions_stand_where_they_are_read() -> None:
    """A field's description is what the Struct's docstring says of it, in one line."""
    schema = json.loads(schema_of(Diagnosis))["$defs"]
    assert schema["Diagnosis"]["properties"]["division"]["description"] == (
        "Where the time of a step goes, as recorded: each microsecond is in exactly one share."
    )
    assert schema["DeviceInfo"]["properties"]["sm_count"] == {
        "description": "Its SMs.",
        "minimum": 0,
        "type": ["integer", "null"],
    }
    assert schema["Severity"]["enum"] == ["critical", "info", "major", "minor"]
