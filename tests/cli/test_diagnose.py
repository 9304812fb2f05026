"""``tailwave diagnose`` as its users call it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailwave.cli import run
from tailwave.errors import UNREADABLE
from tailwave.reports.chrome import to_chrome
from tests.builders import Trace, kernel, steps
from tests.documents import checked
from tests.places import TRACES

LAUNCH_BOUND = TRACES / "decode_small.eager.json.gz"
HEALTHY = TRACES / "gemm.big.json.gz"


def test_the_findings_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The report names what was found, on stdout; stderr stays empty."""
    assert run(["diagnose", str(LAUNCH_BOUND)]) == 0
    out, err = capsys.readouterr()
    assert "launch-bound" in out
    assert err == ""


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    """With --json stdout holds one document that the schema allows, and nothing else."""
    assert run(["diagnose", "--json", str(LAUNCH_BOUND)]) == 0
    document = checked(capsys.readouterr().out, "diagnosis")
    assert document["source"]["path"] == str(LAUNCH_BOUND)
    assert document["findings"][0]["code"] == "launch-bound"


@pytest.mark.parametrize(
    ("file", "severity", "code"),
    [
        (LAUNCH_BOUND, "info", 1),
        (LAUNCH_BOUND, "critical", 1),
        (HEALTHY, "minor", 0),
        (HEALTHY, "critical", 0),
    ],
)
def test_a_severe_finding_fails_the_command_when_asked(
    file: Path, severity: str, code: int
) -> None:
    """With --fail-on a finding of that severity or worse exits with 1, for use in CI."""
    assert run(["diagnose", str(file), "--fail-on", severity]) == code


def test_findings_alone_are_no_failure() -> None:
    """Without --fail-on a diagnosis that finds something has done its work."""
    assert run(["diagnose", str(LAUNCH_BOUND)]) == 0


@pytest.mark.parametrize(
    "content", [b"", b"not json", b"[]", b'{"traceEvents": []}', b"\x1f\x8b broken gzip"]
)
def test_what_cannot_be_read_is_said_in_one_sentence(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that is no trace, or holds nothing, exits with 65 and names itself."""
    file = tmp_path / "trace.json"
    file.write_bytes(content)
    assert run(["diagnose", str(file)]) == UNREADABLE
    out, err = capsys.readouterr()
    assert str(file) in out + err
    assert "Traceback" not in err


def test_a_missing_file_is_unreadable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is not there is named."""
    missing = tmp_path / "none.json"
    assert run(["diagnose", str(missing)]) == UNREADABLE
    assert str(missing) in capsys.readouterr().err


def test_a_recording_of_the_cpu_alone_is_unreadable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without GPU work nothing can be concluded: exit 65, and JSON whose steps are null."""
    file = tmp_path / "cpu.json"
    file.write_bytes(to_chrome(Trace().step(0, 100).op("aten::mm", 0, 50).build()))
    assert run(["diagnose", "--json", str(file)]) == UNREADABLE
    assert checked(capsys.readouterr().out, "diagnosis")["steps"] is None


def test_several_files_are_the_ranks_of_one_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two recordings, given as files or as their folder, are diagnosed together."""
    for rank in range(2):
        trace = Trace(rank=rank)
        length = 100 * (rank + 1)
        steps(3, length, lambda t: t.launch(0, 4, kernel("k", 5, 85)), trace)
        (tmp_path / f"rank{rank}.json").write_bytes(to_chrome(trace.build()))
    files = sorted(str(file) for file in tmp_path.iterdir())
    assert run(["diagnose", "--json", *files]) == 0
    document = checked(capsys.readouterr().out, "diagnosis")
    assert document["source"]["path"] == " ".join(files)
    assert len(document["source"]["ranks"]) == 2
    assert document["steps"]["median_us"] == 200
    assert run(["diagnose", "--json", str(tmp_path)]) == 0
    assert checked(capsys.readouterr().out, "diagnosis")["steps"] == document["steps"]
