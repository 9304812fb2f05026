"""Judges a session's figures by the bounds of this version and the reference found here."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from tailwave.gpu.references.store import find_reference
from tailwave.gpu.verdicts.health import worst
from tailwave.gpu.verdicts.judge import judge
from tailwave.model import DeviceFacts, Health, Session

_WITHOUT_REFERENCE = "Only what holds on any GPU was judged: "


def judged(session: Session, device: DeviceFacts, probes: Iterable[str] = ()) -> Session:
    """Return the session with verdicts on the links that the probes look at.

    Without probes named, they are those that measured something. A run that was cut short keeps
    the health that this gave it, or gets a worse one.
    """
    asked = list(probes) or [m.name.partition(".")[0] for m in session.measurements]
    reference, words = find_reference(device)
    verdicts = judge(session.measurements, reference, asked)
    before = session.health if session.cut_short else Health.OK
    notes = tuple(note for note in session.notes if not note.startswith(_WITHOUT_REFERENCE))
    return replace(
        session,
        verdicts=verdicts,
        health=worst([before, *(verdict.health for verdict in verdicts)]),
        reference=words if reference else "",
        notes=notes if reference else (*notes, f"{_WITHOUT_REFERENCE}{words}."),
    )
