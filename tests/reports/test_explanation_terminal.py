"""Explanations on terminals of any width."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from tailwave.explanations import explain
from tailwave.explanations.lookup import meanings
from tailwave.model import Explanation
from tailwave.reports.explanation_terminal import render_explanation


def printed(explanation: Explanation, columns: int) -> list[str]:
    """Return the lines on a terminal of so many columns."""
    text = io.StringIO()
    console = Console(file=text, width=columns, force_terminal=True, color_system=None)
    render_explanation(explanation, console)
    return text.getvalue().splitlines()


@pytest.mark.parametrize("columns", [50, 80, 120])
def test_nothing_overflows(columns: int) -> None:
    """Every meaning, and the list of all, keeps to the terminal; an address alone may be longer."""
    each = [Explanation(meaning.name, (meaning,)) for meaning in meanings()]
    lines = [line for one in (*each, explain()) for line in printed(one, columns)]
    wide = [line for line in lines if cell_len(line) > columns]
    assert [line for line in wide if not line.strip().startswith("https://")] == []


def test_headings_stand_apart() -> None:
    """A claim, its sections below their headings, and what to run at the end."""
    assert printed(explain("TPC"), 80) == [
        "TPC (纹理处理集群): Two SMs next to each other in a GPC; on an H200 SMs 2k and",
        "2k+1.",
        "",
        "What is real:",
        "  Both together read 1.98 times what one reads (H200): they do not hold each",
        "  other up.",
        "",
        "Run:      tailwave check --only topology --only fabric",
        "See also: topology, fabric.speedup_tpc, GPC",
    ]
