"""Says in one sentence why torch could not capture a function, and what to change."""

from __future__ import annotations

import traceback

from tailwave.cures.library.capture.where import at, line_of
from tailwave.errors import GraphRefusedError

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
