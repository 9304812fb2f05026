"""The JSON Schemas of the documents, made from the Structs and the descriptions of their fields.

They are kept beside this file, so that a change of a document is seen where it is reviewed.
``python -m tailwave.reports.schemas`` writes them anew.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from tailwave.model.values import UNKNOWN
from tailwave.reports.documents import FORMATS, Format

FOLDER: Final = Path(__file__).parent
_ATTRIBUTES: Final = "\n\nAttributes:\n"
_TOOL: Final = {
    "type": "object",
    "properties": {"name": {"const": "tailwave"}, "version": {"type": "string"}},
    "required": ["name", "version"],
}


def path_of(described: Format) -> Path:
    """Return where the schema of a document is kept."""
    return FOLDER / f"{described.name}.schema.json"


def schema_of(document: type[msgspec.Struct]) -> bytes:
    """Return the schema of a document as it is kept: indented JSON."""
    made = msgspec.json.schema(document)
    known = {described.__name__: number for described, (_, _, number) in FORMATS.items()}
    structs = {struct.__name__: struct for struct in _structs(document)}
    for name, definition in made["$defs"].items():
        if name in structs:
            _describe(definition, structs[name], known.get(name))
        definition.pop("title")
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": FORMATS[document].commands,
        **made,
    }
    return msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n"


def _structs(root: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    """Yield a Struct, and those that its fields hold."""
    yield root
    for field in msgspec.structs.fields(root):
        yield from _structs_in(field.type)


def _structs_in(annotation: Any) -> Iterator[type[msgspec.Struct]]:  # noqa: ANN401 - any type
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        yield from _structs(annotation)
    for inner in getattr(annotation, "__args__", ()):
        yield from _structs_in(inner)


def _describe(definition: dict[str, Any], struct: type[msgspec.Struct], number: int | None) -> None:
    """Say of an object what its docstring says; every field is there, and may be null if unknown.

    ``number`` is that of a document's format, which stands in it before its fields.
    """
    described = _described_fields(struct)
    definition["description"] = definition["description"].partition(_ATTRIBUTES)[0]
    properties: dict[str, Any] = definition["properties"]
    for name, schema in properties.items():
        schema.pop("default", None)
        if schema.pop(UNKNOWN, None) is not None:
            schema["type"] = [schema["type"], "null"]
        if name in described:
            schema["description"] = described[name]
    if number is not None:
        what = {"const": number, "description": "The number of this format."}
        properties = {"schema": what, "tool": _TOOL, **properties}
    definition["properties"] = properties
    definition["required"] = list(properties)


def _described_fields(struct: type[msgspec.Struct]) -> dict[str, str]:
    """Read what the ``Attributes`` of a Struct's docstring, and of those it extends, say."""
    found: dict[str, str] = {}
    for one in reversed(struct.__mro__):
        section = (inspect.getdoc(one) or "").partition(_ATTRIBUTES)[2]
        entries = re.findall(r"^    (\w+): (.*(?:\n     +.*)*)", section, re.MULTILINE)
        found |= {name: " ".join(text.split()) for name, text in entries}
    return found


if __name__ == "__main__":
    for document, described in FORMATS.items():
        path_of(described).write_bytes(schema_of(document))
