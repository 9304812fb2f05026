"""The ways in which a process ends: what they leave alone."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from tailwave.cures.hook.ending import _Termination

if TYPE_CHECKING:
    import pytest


def test_a_handler_that_python_does_not_know_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was set in C, and could not be called from here."""
    plain = signal.signal
    held: list[object] = []
    monkeypatch.setattr(signal, "getsignal", lambda _: None)
    monkeypatch.setattr(signal, "signal", lambda *given: held.append(given))
    before = signal.signal
    _Termination(lambda: None).install()
    assert (held, signal.signal) == ([], before)
    assert signal.signal is not plain
