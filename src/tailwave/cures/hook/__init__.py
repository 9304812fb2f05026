"""What runs inside a program under trial, or one that is recorded: marks, actions, recorders.

It is started by ``inject/sitecustomize.py``, before the program's first line, and needs the
standard library alone; torch is used once the program itself has imported it. Whatever fails in
here is written into the report, and the program runs as it is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

# The variable that holds the path of a plan (``plan.Plan``).
PLAN = "TAILWAVE_PLAN"
_INJECT = Path(__file__).parent / "inject"


def hooked(environment: Mapping[str, str], plan: Path) -> dict[str, str]:
    """Return a program's environment, changed so that its Python processes follow the plan."""
    paths = [str(_INJECT), environment.get("PYTHONPATH", "")]
    path = os.pathsep.join(filter(None, paths))
    return {**environment, "PYTHONPATH": path, PLAN: str(plan)}
