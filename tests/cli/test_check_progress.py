"""What a check shows on stderr while it runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tailwave.cli.check_progress import Progress
from tailwave.model import Status
from tests.measured import figure, without

if TYPE_CHECKING:
    import pytest


def shown(capsys: pytest.CaptureFixture[str]) -> str:
    """Run a progress display over two probes and return what it drew."""
    with Progress(("launch", "copy")) as progress:
        progress.begin("launch")
        progress.show(figure("launch.sync", 8.5, "us"))
        progress.show(figure("launch.per_argument", 1.0, "ns", headline=False))
        progress.begin("copy")
        progress.show(without("copy.small", Status.FAILED, "It went wrong."))
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


def test_nothing_is_shown_when_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    """In a pipe or a log there is no bar."""
    assert shown(capsys) == ""


def test_headline_figures_are_shown_as_they_are_taken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal each headline figure stands above the bar; the others do not."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    text = shown(capsys)
    assert "launch.sync" in text
    assert "8.50 us" in text
    assert "per_argument" not in text
