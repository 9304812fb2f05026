"""A noun that prints as its report."""

from __future__ import annotations

from typing import Any

import msgspec


class Printable(msgspec.Struct, frozen=True):
    """A result that shows itself: as a report, as HTML in a notebook, as a JSON document.

    Reports stand above the nouns, so they are imported when one is asked for.
    """

    def __str__(self) -> str:
        """Return the report as plain text, as wide as the terminal or 80 columns."""
        from tailwave.reports import to_text  # noqa: PLC0415 - upwards, see the docstring

        return to_text(self)

    def _repr_html_(self) -> str:
        """Return the report as HTML, which notebooks show."""
        from tailwave.reports import to_html  # noqa: PLC0415 - upwards, see the docstring

        return to_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document that the command prints with --json."""
        from tailwave.reports import to_dict  # noqa: PLC0415 - upwards, see the docstring

        return to_dict(self)
