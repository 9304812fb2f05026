"""Writes into the pages what the commands of their transcripts print now.

``python -m tests.docs.renew``, when the words of a report have changed on purpose. The others,
which show only how a report begins, are renewed by hand.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys

from tests.docs.pages import PAGES
from tests.places import ROOT

_TRANSCRIPT = re.compile(
    r"^```console\n\$ tailwave (\w+ examples/\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


def _anew(found: re.Match[str]) -> str:
    command = [sys.executable, "-m", "tailwave", *shlex.split(found[1])]
    plain = {**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
    made = subprocess.run(command, cwd=ROOT, env=plain, capture_output=True, check=True)
    return f"```console\n$ tailwave {found[1]}\n{made.stdout.decode()}```"


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(_TRANSCRIPT.sub(_anew, page.read_text("utf-8")), "utf-8")
