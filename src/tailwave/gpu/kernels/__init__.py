"""The sources of the kernels, one file each; ``README.md`` beside them is their contract."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
