"""Python imports this before a program under trial, or one that is recorded: it starts the hook.

Then it steps out of the way. The package is loaded from the folder that this file lies in, for the
program's Python need not have tailwave installed, and must not see the packages of the one that
has. Any other ``sitecustomize`` of the program's path runs afterwards, as it would have.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path

PLAN = "TAILWAVE_PLAN"  # the variable that holds the path of a plan
HERE = Path(__file__).resolve().parent


def load_package() -> None:
    """Make ``tailwave`` the package that this file belongs to, by its file and no search path."""
    folder = HERE.parents[2]
    spec = importlib.util.spec_from_file_location(
        "tailwave", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"there is no package at {folder}")
    package = importlib.util.module_from_spec(spec)
    sys.modules["tailwave"] = package
    spec.loader.exec_module(package)


def start(plan: str) -> None:
    """Start the hook; a hook that cannot start leaves a report that says why."""
    try:
        if "tailwave" not in sys.modules:
            load_package()
        importlib.import_module("tailwave.cures.hook.start").start(Path(plan))
    except Exception as error:  # noqa: BLE001  # the program must run whatever fails here
        complain(Path(plan), f"the hook did not start: {type(error).__name__}: {error}")


def complain(plan: Path, why: str) -> None:
    """Write a report that holds nothing but the reason, next to the plan if the plan is damaged."""
    if not plan.is_absolute():
        return  # next to it is wherever the program works
    prefix = plan.parent / "report"
    # The plan itself may be what is wrong, and no other path than an absolute one is a report's.
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        told = Path(json.loads(plan.read_text("utf-8"))["report"])
        prefix = told if told.is_absolute() else prefix
    try:
        report = json.dumps({"pid": os.getpid(), "main": True, "error": why})
        Path(f"{prefix}-{os.getpid()}.json").write_text(report, "utf-8")
    except OSError:
        return  # nowhere to say it: the trial notes that a report is missing


def run_next() -> None:
    """Run the ``sitecustomize`` that Python would have found had this folder not been there."""
    sys.path[:] = [entry for entry in sys.path if not entry or Path(entry).resolve() != HERE]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if PLAN in os.environ:
    start(os.environ[PLAN])
run_next()
