"""Docstrings cut into what an explanation is made of."""

from __future__ import annotations

from tailwave.explanations.docstrings import from_docstring
from tailwave.model import Section


def test_a_docstring_is_cut_at_its_headings_and_items() -> None:
    """The first paragraph is the claim; lines are joined, and a list is cut at its items."""
    text = """What does it
    cost?

    It costs ``little``, on
    any day.

    - One: the first,
      which goes on.
    - Two: the second.

    What fools it:
        The time of
        the day.
    """
    assert from_docstring(text) == (
        "What does it cost?",
        (
            Section("", ("It costs little, on any day.",)),
            Section("", ("- One: the first, which goes on.", "- Two: the second.")),
            Section("What fools it", ("The time of the day.",)),
        ),
    )


def test_no_docstring_says_nothing() -> None:
    """A member without one has an empty claim."""
    assert from_docstring(None) == ("", ())
