"""Starts the hook in a process: before the program's first line, in its main thread."""

from __future__ import annotations

import os
from pathlib import Path

from tailwave.cures.hook import plan, process
from tailwave.cures.hook.arrival import when_imported
from tailwave.cures.hook.ending import on_every_end
from tailwave.cures.hook.session import Session
from tailwave.cures.library import marks


def start(path: Path) -> None:
    """Follow the plan in this process; raises OSError or ValueError for one that is damaged."""
    session = Session(plan.read(path), main=process.claim(os.environ))
    session.prepare()
    marks.attach(session)
    on_every_end(session.finish)
    os.register_at_fork(after_in_child=session.forked)
    when_imported("torch", session.torch_arrived)
