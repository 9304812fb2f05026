"""Says which line of the user's a failure comes from."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable
from pathlib import Path

# Sources of compiled modules (CuPy), which name themselves in tracebacks.
_COMPILED = (".pyx", ".pxd", ".pxi")
_HERE = str(Path(__file__).parent)


def line_of(error: BaseException) -> str:
    """Return "file:line" of the user's line that an exception passed through; "" for none."""
    frames = traceback.extract_tb(error.__traceback__)
    return _last((frame.filename, frame.lineno or 0) for frame in frames)


def line_now() -> str:
    """Return "file:line" of the user's line that is running; "" for none."""
    places = []
    frame = sys._getframe(1)  # noqa: SLF001 - walking frames is 100 times cheaper than a traceback
    while frame is not None:
        places.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back  # type: ignore[assignment]
    # Outside of tailwave's own frames are the user's callers of graph(): not what is sought.
    return _last(reversed(places[: _own_depth(places)]))


def at(line: str) -> str:
    """Return a line as part of a sentence."""
    return f" at {line}" if line else ""


def _own_depth(places: list[tuple[str, int]]) -> int:
    """Return how many innermost frames there are up to tailwave's call of the function."""
    outside = [index for index, (name, _) in enumerate(places) if not _is_ours(name)]
    first = outside[0] if outside else 0
    ours = (index for index in range(first, len(places)) if _is_ours(places[index][0]))
    return next(ours, len(places))


def _last(places: Iterable[tuple[str, int]]) -> str:
    """Return the last place in the program itself, or else in a package that is not torch."""
    theirs = [
        (n, line)
        for n, line in places
        if not _is_ours(n)
        and "/torch/" not in n
        and not n.startswith("<")
        and not n.endswith(_COMPILED)
    ]
    own = [place for place in theirs if "-packages/" not in place[0]]
    chosen = (own or theirs)[-1:]
    return "".join(f"{name}:{line}" for name, line in chosen)


def _is_ours(name: str) -> bool:
    """Tell whether a file is one of these."""
    return name.startswith(_HERE)
