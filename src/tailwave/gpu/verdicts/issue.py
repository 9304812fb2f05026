"""Do warps fill an SM, and what do barriers and bank conflicts cost?

Published: an FMA takes 4 cycles (Volta and later), a barrier of 1,024 threads 77 and a way of a
conflict 1.94 on a B300 (QuickRunCUDA).

Bounds on any GPU:

- A warp of dependent instructions waits for each result, and a second warp of the same scheduler
  issues meanwhile: two warps issue twice as much. Less than that by more than a check can tell
  (``RESOLUTION``) means that warps do not hide each other's waits (WARNING).
- A barrier is an arrival of each warp, so it grows at most as the number of warps does (WARNING).
- A bank serves one word in a cycle, so each further way of a conflict takes a cycle or more. Less
  means that the access was not made, and nothing about banks was measured (WARNING).
- Padding and swizzling are to undo a conflict of 32 ways: what is left is less than the conflict
  (WARNING), else the cure that everybody applies does nothing here.
"""

from __future__ import annotations

from tailwave.gpu.headlines import RESOLUTION
from tailwave.gpu.verdicts.criteria import quotient, within
from tailwave.gpu.verdicts.measurements import Measurements, amount, listed, sentences
from tailwave.model import Criterion, Health, Measurement

LINK = "issue"
PROBES = ("issue", "banks")
_FEW, _MANY = 8, 32  # warps in the CTAs whose barriers are compared
_WAYS = 32


def criteria(figures: Measurements) -> tuple[Criterion, ...]:
    """Hold warps, barriers and banks against what the hardware must do."""
    return (*_warps(figures), *_banks(figures))


def _warps(figures: Measurements) -> tuple[Criterion, ...]:
    return (
        quotient(
            "instructions of two warps a scheduler against one, each waiting for its last result",
            figures.get("issue.slots", kind="dependent", warps_per_scheduler=2),
            _alone(figures),
            least=2 * (1 - RESOLUTION),
            breach=Health.WARNING,
        ),
        quotient(
            f"a barrier of {_MANY} warps against one of {_FEW}",
            figures.get("issue.barrier", warps=_MANY),
            figures.get("issue.barrier", warps=_FEW),
            most=_MANY / _FEW,
            breach=Health.WARNING,
        ),
    )


def _banks(figures: Measurements) -> tuple[Criterion, ...]:
    ways = [
        within(
            f"cycles of a further way of a bank conflict ({access}s)",
            figures.get("banks.cycles_per_way", access=access),
            least=1.0 - RESOLUTION,
            breach=Health.WARNING,
        )
        for access in ("load", "store")
    ]
    cures = [
        within(
            f"a conflict of {_WAYS} ways {cure} against an access without conflict",
            figures.get(f"banks.{cure}"),
            most=1 + RESOLUTION,
            breach=Health.WARNING,
        )
        for cure in ("padded", "swizzled")
    ]
    return (*ways, *cures)


def _alone(figures: Measurements) -> Measurement:
    return figures.get("issue.slots", kind="dependent", warps_per_scheduler=1)


def claim(figures: Measurements) -> str:
    """Word the latency of an instruction, a barrier, a conflict."""
    return listed(
        ("FMA latency", _latency(figures)),
        ("barrier", figures.get("issue.barrier", warps=_MANY)),
        ("conflict way", figures.get("banks.cycles_per_way", access="load")),
    )


def _latency(figures: Measurements) -> Measurement:
    return figures.get("issue.gap", kind="dependent", warps_per_scheduler=1)


def meaning(figures: Measurements) -> str:
    """Say how many warps fill an SM, and what a conflict costs."""
    latency, way = _latency(figures), figures.get("banks.cycles_per_way", access="load")
    warps = round(latency.value or 0.0)  # a loop adds a little to each instruction
    longer = f"{amount(way, _WAYS - 1)} longer"
    return sentences(
        (f"Dependent arithmetic needs {warps} warps a scheduler to fill an SM.", (latency,)),
        (f"A {_WAYS}-way bank conflict makes a shared-memory access {longer}.", (way,)),
    )
