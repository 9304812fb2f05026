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
    # A command line's bytes may be no text (PEP 383), and JSON holds nothing else.
    text = json.dumps(document, ensure_ascii=False)
    unfinished.write_bytes(text.encode("utf-8", "replace"))
    unfinished.replace(path)
