"""Makes a reference: from saved sessions, or by measuring several times."""

from __future__ import annotations

from pathlib import Path

import click

from tailwave.cli.checking import Plan, check
from tailwave.errors import UnavailableError
from tailwave.gpu.references.make import make_reference
from tailwave.gpu.references.store import own_path, save_reference
from tailwave.model import Session
from tailwave.session import load


def write_reference(plan: Plan, runs: int, sessions: tuple[Path, ...], output: Path | None) -> None:
    """Write a reference to a file, or to where the user's own references lie.

    Raises UsageError when the sessions make no reference, UnavailableError when measuring failed.
    """
    measured = [load(path) for path in sessions] or [_check(plan) for _ in range(runs)]
    reference = make_reference(measured)
    device = next(session.device for session in measured if session.device is not None)
    path = output or own_path(device)
    save_reference(reference, path)
    count = len(reference.figures)
    click.echo(
        f"wrote {path}: {count} figure{'' if count == 1 else 's'} of {reference.device}, "
        f"{reference.runs} runs",
        err=True,
    )


def _check(plan: Plan) -> Session:
    session = check(plan)
    if session.cut_short:
        raise UnavailableError(session.cut_short)
    return session
