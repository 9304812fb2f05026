"""The folder that a trial keeps its files in."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tailwave.cures.trials.workspace import workspace
from tailwave.errors import UnavailableError


@pytest.fixture(autouse=True)
def temporary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Give a temporary folder of its own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_is_removed_whatever_happens(temporary: Path) -> None:
    """With all that is in it, also on an error."""
    with pytest.raises(ZeroDivisionError), workspace() as folder:  # noqa: PT012 - both belong
        (folder / "run").mkdir()
        (folder / "run" / "plan.json").write_text("{}")
        raise ZeroDivisionError
    assert list(temporary.iterdir()) == []


def test_trials_beside_each_other_leave_each_other_alone(temporary: Path) -> None:
    """A folder whose trial lives is not stale."""
    with workspace() as one:
        with workspace() as other:
            assert set(temporary.iterdir()) == {one, other}
        assert list(temporary.iterdir()) == [one]


def test_only_what_dead_trials_left_is_removed(temporary: Path) -> None:
    """Folders of others, of whatever name, stay; so does one without a lock yet."""
    stale = temporary / "tailwave-trial-dead"
    being_made = temporary / "tailwave-trial-new"
    others = temporary / "tailwave-notes"
    for folder in (stale, being_made, others):
        folder.mkdir()
    (stale / "lock").touch()
    (others / "lock").touch()
    with workspace() as mine:
        assert set(temporary.iterdir()) == {mine, being_made, others}


def test_no_folder_for_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be written is said, with the variable that names another."""
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    with pytest.raises(UnavailableError, match=r"no folder for temporary files .* by TMPDIR"):
        workspace().__enter__()
