"""What the README shows is what the commands print."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.places import ROOT

RECORDING = "examples/recordings/decode_small.eager.json.gz"


@pytest.mark.parametrize("command", ["diagnose", "whatif"])
def test_the_output_shown_is_the_commands_own(command: str) -> None:
    """The report on the shipped recording stands in the README word for word."""
    done = subprocess.run(
        [sys.executable, "-m", "tailwave", command, RECORDING],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        check=True,
    )
    assert f"\n{done.stdout.decode()}```\n" in (ROOT / "README.md").read_text("utf-8")
