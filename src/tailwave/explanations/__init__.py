"""What a word means, what of it is real, and the command to run.

tailwave's own members explain themselves by their docstrings (``members``, ``cures``); words,
environment variables and XIDs stand in files beside this one (``glossary``).
"""

from __future__ import annotations

from tailwave.explanations.explanation import explain
from tailwave.explanations.lookup import find, suggest

__all__ = ["explain", "find", "suggest"]
