"""A Triton kernel, and so none of ours, whose programs say on which SM they run."""

from __future__ import annotations

import importlib
from typing import Any

triton: Any = importlib.import_module("triton")
tl: Any = importlib.import_module("triton.language")


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _kernel(out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202  Triton evaluates them
    program = tl.program_id(0)
    tl.store(out + program, tl.extra.cuda.smid().to(tl.int64))


def launch(out: Any) -> None:  # noqa: ANN401  torch's tensor
    """Launch a program for each element of a tensor of int64, on torch's current stream."""
    _kernel[(out.numel(),)](out)
