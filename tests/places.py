"""Where the tests find what they read: one place, so that a test file can be moved."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
DATA = TESTS / "data"
TRACES = DATA / "traces"
