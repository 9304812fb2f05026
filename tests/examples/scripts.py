"""The scripts of examples/ and benchmarks/ as modules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from tests.places import ROOT

EXAMPLES = ROOT / "examples"
BENCHMARKS = ROOT / "benchmarks"


def load(folder: Path, name: str) -> Any:  # noqa: ANN401  a script has no types here
    """Import a script as it would be run: with its own folder first on the path."""
    spec = importlib.util.spec_from_file_location(f"{folder.name}_{name}", folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return module
