"""JSON documents in tests: read, and held against the schema that the package ships."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import jsonschema

from tailwave.reports.documents import FORMATS
from tailwave.reports.schemas import path_of


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    """Return the validator of the documents of a name ("diagnosis", "check" ...)."""
    (described,) = (one for one in FORMATS.values() if one.name == name)
    return jsonschema.Draft202012Validator(json.loads(path_of(described).read_text("utf-8")))


def checked(text: str | bytes, name: str) -> dict[str, Any]:
    """Parse what was printed: one document that its schema allows."""
    document: dict[str, Any] = json.loads(text)
    validator(name).validate(document)
    return document
