"""Writes a process's report: whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path


def write(prefix: str, document: Mapping[str, object]) -> None:
    """Write ``<prefix>-<pid>.json`` anew; raises OSError where the folder takes no file."""
    path = Path(f"{prefix}-{os.getpid()}.json")
    # The reader takes every report-*.json, so the unfinished one is called otherwise.
    unfinished = path.with_name(f".{path.name}.part")
    unfinished.write_text(json.dumps(document), "utf-8")
    unfinished.replace(path)
