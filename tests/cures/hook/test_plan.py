"""A plan whose paths are absolute; a process's report, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailwave.cures.hook.plan import read, write_report


def test_a_report_that_is_not_whole_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is killed while it writes leaves the report of before."""
    prefix = str(tmp_path / "report")
    write_report(prefix, {"n": 1})

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        write_report(prefix, {"n": 2})
    (whole,) = tmp_path.glob("report-*.json")
    assert (whole.name, whole.read_text()) == (f"report-{os.getpid()}.json", '{"n": 1}')


@pytest.mark.parametrize("place", ['""', '"1"', "1", "null", '"report"', '"../report"', "{}"])
def test_a_plan_whose_paths_are_not_absolute_is_damaged(tmp_path: Path, place: str) -> None:
    """Nothing may be written into the folder that the program works in."""
    profile = (
        f'{{"trace": {place}, "after_steps": 1, "steps": 1, "after_seconds": 1, "seconds": 1}}'
    )
    for plan in (
        f'{{"report": {place}, "tasks": []}}',
        f'{{"report": "/report", "tasks": [], "profile": {profile}}}',
    ):
        (tmp_path / "plan.json").write_text(plan, "utf-8")
        with pytest.raises(ValueError, match="is no absolute path"):
            read(tmp_path / "plan.json")
