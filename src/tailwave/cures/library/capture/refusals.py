"""Why a function cannot be captured: one sentence, with the user's line that it comes from."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable
from pathlib import Path

from tailwave.errors import GraphRefusedError

# Sources of compiled modules (CuPy), which name themselves in tracebacks.
_COMPILED = (".pyx", ".pxd", ".pxi")
_HERE = str(Path(__file__).parent)
WAIT = (
    "the function waits for the GPU{at} ({what}), which a graph cannot hold; keep the value on "
    "the GPU, or read it after the call"
)
SHAPE = (
    "the function makes a tensor whose shape depends on the data{at} ({what}), and a graph's "
    "shapes are fixed; use a mask of full size (torch.where) or torch.nonzero_static"
)
_CAPTURABLE = (
    "an optimizer{at} keeps its step count on the CPU; build it with capturable=True "
    "(`torch.optim.Adam(parameters, capturable=True)`), or write `for group in "
    "optimizer.param_groups: group['capturable'] = True` before its first step"
)
_LEGACY = (
    "the function's work{at} depends on the default stream, mostly because a loss or output of "
    "an earlier step is still alive with its gradient graph; delete it (`del loss`) before "
    "tailwave.graph, and leave stream changes out of the function"
)
_FORBIDDEN = (
    "the function does{at} what no capture allows: it waits for the GPU (synchronize), or takes "
    "GPU memory past torch's allocator (cudaMalloc); do that outside of it"
)
_MEMORY = (
    "the GPU's memory does not hold the graph's own buffers beside what is in use; free some, or "
    "capture a smaller part"
)
# What torch's and CUDA's messages say, and the sentence for it; the first that fits.
_SENTENCES = (
    ("called a synchronizing CUDA operation", WAIT),
    ("capturable", _CAPTURABLE),
    ("legacy stream", _LEGACY),
    ("CaptureImplicit", _LEGACY),
    ("out of memory", _MEMORY),
    ("capturing", _FORBIDDEN),
    ("StreamCapture", _FORBIDDEN),
    ("apture", _FORBIDDEN),
)


def refusal(error: BaseException) -> GraphRefusedError:
    """Return the refusal for an exception that a watched or captured run ended with."""
    if isinstance(error, GraphRefusedError):
        return error
    text, line = str(error), at(line_of(error))
    # The function's own variables would live on in the traceback: a loss among them keeps its
    # gradient graph, which the next backward pass then has to wait for.
    traceback.clear_frames(error.__traceback__)
    for sign, sentence in _SENTENCES:
        if sign in text:
            return GraphRefusedError(sentence.format(at=line, what="a synchronizing operation"))
    first = text.strip().splitlines()[0] if text.strip() else "no message"
    return GraphRefusedError(
        f"the function fails{line} when it is captured ({type(error).__name__}: {first}); "
        "keep that part out of the function, or call it plainly"
    )


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
