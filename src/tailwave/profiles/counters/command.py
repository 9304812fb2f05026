"""The command line of ncu that records some counters."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from tailwave.profiles.counters.names import of_the_launch

# What a launch is and what fits an SM; these sections bring it on every version of ncu.
_SECTIONS = ("--section", "LaunchStats", "--section", "Occupancy")
_REPORT = "kernels"
PROGRAM = "YOUR_PROGRAM"


def ncu_command(names: Iterable[str]) -> str:
    """Return a line to be run, with the program's own command in place of the last word."""
    each = list(dict.fromkeys(names))
    counters = [name for name in each if not of_the_launch(name)]
    parts = ["ncu", *(_SECTIONS if len(counters) < len(each) else ())]
    parts += ["--metrics", ",".join(counters)] if counters else []
    return shlex.join([*parts, "-o", _REPORT, PROGRAM])
