"""Run the program's processes under an MPS daemon, each on a share of the SMs.

What it does:
    Processes that share a GPU take turns; under MPS their kernels run at once, and
    CUDA_MPS_ACTIVE_THREAD_PERCENTAGE caps the share of the SMs that each may use. It is a cap and
    no reservation: L2 and memory stay shared, and one process's fault ends all.

What it needs:
    A daemon of our own for the time of the run (nvidia-cuda-mps-control), no other daemon of this
    user, no MIG, Volta or later. A program of one process gains nothing from it.

How its mechanism is seen:
    The driver says inside the program whether it runs under MPS.

How it is undone:
    The daemon ends with the run.

Lines to keep it:
    nvidia-cuda-mps-control -d
    export CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50
"""

from __future__ import annotations

from collections.abc import Iterable

from tailwave.cures.catalogue.base import Change, Report, Seen, Setting, exports, read_back, whole

NAME = "mps-share"
LABEL = "percent of the SMs under MPS"
ANSWERS: tuple[str, ...] = ()  # a recording of one process does not show others
EVIDENCE: tuple[str, ...] = ()


def parameters(_: Setting) -> tuple[str, ...]:
    """Half, for two."""
    return ("50",)


def change(parameter: str, _: Setting) -> Change:
    """Ask for a daemon."""
    return Change(mps_percent=whole(NAME, parameter, 1, 100))


def why_not(_: str, setting: Setting) -> str:
    """Only where a daemon can be started."""
    return setting.mps_why_not


def seen(parameter: str, reports: Iterable[Report]) -> Seen:
    """Ask what the driver said."""
    return read_back("mps", True, f"{parameter}% under MPS", reports)  # noqa: FBT003 - a value


def lines(parameter: str) -> tuple[str, ...]:
    """The daemon and the share."""
    share = exports({"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": parameter})
    return ("nvidia-cuda-mps-control -d", *share)
