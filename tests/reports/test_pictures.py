"""The die map and the latency matrix as PNG files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tailwave.errors import UnavailableError, UsageError
from tailwave.reports.pictures import save_pictures
from tailwave.session import load
from tests.measured import session
from tests.places import DATA
from tests.reports.checks import MAPPED

SAVED = DATA / "sessions" / "v1.json"
PNG = b"\x89PNG\r\n\x1a\n"


def test_both_pictures_are_written(tmp_path: Path) -> None:
    """A session with both tables gives both pictures, in a folder that is made."""
    written = save_pictures(load(SAVED), tmp_path / "pictures")
    assert [path.name for path in written] == ["die_map.png", "latency_matrix.png"]
    assert {path.read_bytes()[:8] for path in written} == {PNG}


def test_a_small_die_with_a_hole(tmp_path: Path) -> None:
    """Cells that were not measured are no obstacle."""
    assert len(save_pictures(MAPPED, tmp_path)) == 2


def test_a_session_without_maps(tmp_path: Path) -> None:
    """Without tables there is nothing to draw."""
    assert save_pictures(session(), tmp_path) == []


def test_without_matplotlib_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence says what to install."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UnavailableError, match=r"pip install 'tailwave\[plot\]'"):
        save_pictures(MAPPED, tmp_path)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """A place that cannot be written is a usage error."""
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot write to"):
        save_pictures(MAPPED, tmp_path / "file" / "pictures")
