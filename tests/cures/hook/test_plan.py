"""A process's report: whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailwave.cures.hook.plan import write_report


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
