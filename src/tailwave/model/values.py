"""The types of values in nouns that are written as JSON documents (``reports/documents.py``).

Nouns write what is not known as "" or 0, documents as null: the types below say which fields do.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from msgspec import Meta

UNKNOWN: Final = "unknown"  # the key under which a type names the value that means "not known"

TextOrUnknown: TypeAlias = Annotated[str, Meta(extra_json_schema={UNKNOWN: ""})]
CountOrUnknown: TypeAlias = Annotated[int, Meta(ge=0, extra_json_schema={UNKNOWN: 0})]
Count: TypeAlias = Annotated[int, Meta(ge=0)]
Us: TypeAlias = Annotated[float, Meta(ge=0)]  # microseconds
Part: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
