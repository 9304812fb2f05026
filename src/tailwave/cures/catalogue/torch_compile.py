"""Compile the model with torch.compile.

What it does:
    Operators are fused into fewer, larger kernels, and mode "reduce-overhead" also replays them as
    CUDA graphs. The results may differ in the last digits.

What it needs:
    A PyTorch program, Triton and a C compiler; the first steps take a minute or more. Mode
    reduce-overhead not under HAMi, whose quota does not count the launches in a graph.

How its mechanism is seen:
    Dynamo compiled frames that then ran.

How it is undone:
    The compiled code ends with the process.

Lines to keep it:
    model = torch.compile(model, mode="reduce-overhead")
"""

from __future__ import annotations

from collections.abc import Iterable

from tailwave.cures.catalogue.base import (
    Action,
    Change,
    Report,
    Seen,
    Setting,
    acted,
    needs_python,
    not_seen,
    one_of,
)

NAME = "compile"
LABEL = "torch.compile"
ANSWERS: tuple[str, ...] = ("compile",)
EVIDENCE: tuple[str, ...] = ()

_GRAPHS = "reduce-overhead"
_MODES = ("default", _GRAPHS)


def parameters(_: Setting) -> tuple[str, ...]:
    """The mode with graphs alone: each costs a run a minute, and the other can be named."""
    return (_GRAPHS,)


def change(parameter: str, _: Setting) -> Change:
    """Ask the hook."""
    one_of(NAME, parameter, _MODES)
    return Change(actions=(Action(NAME, {"mode": parameter}),))


def why_not(parameter: str, setting: Setting) -> str:
    """No graphs under HAMi."""
    if setting.hami and parameter == _GRAPHS:
        return (
            "HAMi's quota does not count the launches in the CUDA graphs of this mode: "
            "try compile:default."
        )
    return needs_python(setting)


def seen(_: str, reports: Iterable[Report]) -> Seen:
    """Count what was compiled."""
    found = acted(NAME, reports)
    compiled = found.total("compiled")
    if compiled > 0:
        what = "graph" if compiled == 1 else "graphs"
        skipped = found.total("cudagraph_skips")
        but = f" and left {skipped} of its CUDA graphs out" if skipped else ""
        sentence = f"torch.compile compiled {compiled} {what} of operators{but}."
        return Seen(works=True, sentence=sentence)
    return not_seen(found, "nothing was compiled")


def lines(parameter: str) -> tuple[str, ...]:
    """PyTorch's own."""
    return (f'model = torch.compile(model, mode="{parameter}")',)
