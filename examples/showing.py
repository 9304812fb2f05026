"""What the examples share: what they need, how they time, what they print.

Every example is a script: ``python examples/NAME.py``. It prints a line for each condition (median
and 99th percentile), and one sentence on what they show; with ``--json`` one document instead.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tailwave import figures
from tailwave.errors import TailwaveError, UnavailableError

# What only a GPU host has, as the examples speak of it.
Torch: TypeAlias = Any
Tensor: TypeAlias = Any
Stream: TypeAlias = Any
Event: TypeAlias = Any

WARM_UPS = 20  # runs before the first that counts: caches, clocks and lazy loading settle in them


class Row(NamedTuple):
    """One condition's latencies (us), and what else is to be said of it."""

    what: str
    us: tuple[float, ...]
    remark: str = ""

    @property
    def p50(self) -> float:
        """The median (us)."""
        return quantile(self.us, 0.50)

    @property
    def p99(self) -> float:
        """The 99th percentile (us)."""
        return quantile(self.us, 0.99)

    def document(self) -> dict[str, object]:
        """Return what the JSON says of it."""
        return {
            "what": self.what,
            "p50_us": round(self.p50, 2) if self.us else None,
            "p99_us": round(self.p99, 2) if self.us else None,
            "runs": len(self.us),
            "remark": self.remark,
        }


class Shown(NamedTuple):
    """All that an example found: its conditions, before first, and what they show."""

    gpu: str
    rows: tuple[Row, ...]
    sentence: str

    def document(self) -> dict[str, object]:
        """Return the JSON document."""
        rows = [row.document() for row in self.rows]
        return {"gpu": self.gpu, "rows": rows, "sentence": self.sentence}

    def lines(self) -> list[str]:
        """Return the lines of the report."""
        return [self.gpu, *table(self.rows), self.sentence]


def quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile, interpolated between the two values nearest to it."""
    return float(np.quantile(np.asarray(values, dtype=np.float64), share))


def times_better(before: float, after: float) -> str:
    """Say how many times smaller a figure became."""
    return f"{before / after:.1f} times"


def table(rows: Iterable[Row]) -> list[str]:
    """Return the rows as lines, the columns under one another."""
    rows = list(rows)
    width = max((len(row.what) for row in rows), default=0)
    return [f"{'':<{width}} {'p50':>9} {'p99':>9}", *(_line(row, width) for row in rows)]


def _line(row: Row, width: int) -> str:
    cells = (figures.time(row.p50), figures.time(row.p99)) if row.us else ("-", "-")
    return f"{row.what:<{width}} {cells[0]:>9} {cells[1]:>9}  {row.remark}".rstrip()


def torch_on_gpu() -> ModuleType:
    """Import torch; raises UnavailableError, with what to do next, without it or without a GPU."""
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise UnavailableError(
            f"This example needs PyTorch ({error}): run `pip install torch 'tailwave[cuda]'`."
        ) from error
    if not torch.cuda.is_available():
        raise UnavailableError(
            f"This example needs an NVIDIA GPU, and PyTorch {torch.__version__} sees none: run it "
            "where `nvidia-smi` lists one, with a PyTorch that is built for CUDA."
        )
    return torch


def latencies(torch: Torch, step: Callable[[], object], runs: int) -> list[float]:
    """Return how long each run took (us), from its call until its stream had finished it."""
    taken = []
    for _ in range(runs):
        begun = time.perf_counter()
        step()
        torch.cuda.current_stream().synchronize()
        taken.append((time.perf_counter() - begun) * 1e6)
    return taken


def in_turns(
    torch: Torch,
    steps: Mapping[str, Callable[[], object]],
    rounds: int,
    runs: int,
) -> dict[str, list[float]]:
    """Time several steps in turns, so that a drift of the machine meets them all alike."""
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for step in steps.values():
        latencies(torch, step, WARM_UPS)
    for _ in range(rounds):
        for name, step in steps.items():
            taken[name] += latencies(torch, step, runs)
    return taken


def run(about: str, show: Callable[[], Shown]) -> int:
    """Read the command line, show, and return the exit code: 69 where something is missing."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document instead")
    chosen = parser.parse_args()
    try:
        shown = show()
    except TailwaveError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return error.exit_code
    print(json.dumps(shown.document(), indent=1) if chosen.json else "\n".join(shown.lines()))
    return 0
