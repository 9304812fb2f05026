"""Whether a changed program computes what it computed before, by the outputs that it exposes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np

from tailwave.cures.trials.run import Output, Run
from tailwave.figures import percent
from tailwave.model import Floats, OutputMatch

# Of an output's largest magnitude: the relative tolerances of torch.testing.assert_close for half
# precision, below which stays what reordered sums in mixed precision differ by, and for bfloat16,
# whose numbers have three bits less.
TOLERANCE: Final = 1e-3
_COARSER: Final = {"bfloat16": 1.6e-2}
# Whole numbers and truths are names, places and counts: a token's neighbour is another token.
_EXACT: Final = re.compile("u?int|bool")
_MILDEST_FIRST: Final = (
    OutputMatch.NOT_EXPOSED,
    OutputMatch.EQUAL,
    OutputMatch.CLOSE,
    OutputMatch.DIFFER,
    OutputMatch.NOT_COMPARABLE,
)


class Match(NamedTuple):
    """How outputs compare, and what to say of the one that differs most."""

    match: OutputMatch
    detail: str = ""


def compare(before: Run, after: Run) -> Match:
    """Compare what two runs exposed, by name; the worst of them counts."""
    was, now = exposed(before), exposed(after)
    if not was:
        return Match(OutputMatch.NOT_EXPOSED)
    return worst(_compared(name, was.get(name), now.get(name)) for name in sorted({*was, *now}))


def worst(matches: Iterable[Match]) -> Match:
    """Return the match that differs most; nothing exposed where there is none."""
    return max(
        matches,
        key=lambda match: _MILDEST_FIRST.index(match.match),
        default=Match(OutputMatch.NOT_EXPOSED),
    )


def exposed(run: Run) -> Mapping[str, Output]:
    """Return the outputs of a run's processes by name; those of the main process go first."""
    found: dict[str, Output] = {}
    for process in sorted(run.processes, key=lambda process: process.main):
        found |= process.outputs
    return found


def _compared(name: str, was: Output | None, now: Output | None) -> Match:
    if was is None or now is None:
        which = "new" if was is None else "missing"
        return Match(OutputMatch.DIFFER, f"{name} is {which}")
    if was.shape != now.shape or was.count != now.count:
        return Match(
            OutputMatch.DIFFER,
            f"{name}: {now.count} of shape {list(now.shape)}, "
            f"where there were {was.count} of shape {list(was.shape)}",
        )
    if was.sha256 == now.sha256 and was.sha256:
        return Match(OutputMatch.EQUAL)
    tolerance = 0.0 if _EXACT.match(was.dtype) else _COARSER.get(was.dtype, TOLERANCE)
    return _by_value(name, _numbers(was), _numbers(now), tolerance)


def _by_value(name: str, was: Floats, now: Floats, tolerance: float) -> Match:
    known = np.isfinite(was)
    if not np.array_equal(
        np.where(known, 0.0, was), np.where(np.isfinite(now), 0.0, now), equal_nan=True
    ):
        return Match(OutputMatch.DIFFER, f"{name} has other values that are no finite numbers")
    scale = float(np.abs(was[known]).max(initial=0.0))
    apart = float(np.abs(was[known] - now[known]).max(initial=0.0))
    by = f"{percent(apart / scale)} of its largest value" if scale else f"{apart:g}"
    detail = f"{name} differs by {by}"
    if apart <= tolerance * scale:
        return Match(OutputMatch.CLOSE, detail)
    return Match(OutputMatch.DIFFER, detail)


def _numbers(output: Output) -> Floats:
    return np.array([float(value) for value in output.values], dtype=np.float64)
