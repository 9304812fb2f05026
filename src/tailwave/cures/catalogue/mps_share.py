"""Run the program's processes under an MPS daemon, each on a share of the SMs."""

from __future__ import annotations

from collections.abc import Iterable

from tailwave.cures.catalogue.base import (
    Cure,
    Mechanism,
    Report,
    Setting,
    Treatment,
    exports,
    read_back,
    whole,
)


class MpsShareCure(Cure):
    """Works where the driver says inside the program that it runs under MPS.

    No finding asks for it: a recording of one process does not show others.
    """

    name = "mps-share"
    label = "percent of the SMs under MPS"
    does = (
        "Processes that share a GPU take turns; under MPS their kernels run at once, and "
        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE caps the share of the SMs that each may use. It is a "
        "cap and no reservation: L2 and memory stay shared, and one process's fault ends all."
    )
    needs = (
        "A daemon of our own for the time of the run (nvidia-cuda-mps-control), no other daemon of "
        "this user, no MIG, Volta or later. A program of one process gains nothing from it."
    )
    example = "50"  # half, for two

    def treatment(self, parameter: str, _: Setting, /) -> Treatment:
        """Ask for a daemon."""
        return Treatment(mps_percent=whole(self.name, parameter, 1, 100))

    def why_not(self, _: str, setting: Setting, /) -> str:
        """Only where a daemon can be started."""
        return setting.mps_why_not

    def mechanism(self, parameter: str, reports: Iterable[Report], /) -> Mechanism:
        """Ask what the driver said."""
        return read_back("mps", True, f"{parameter}% under MPS", reports)  # noqa: FBT003 - a value

    def lines(self, parameter: str, /) -> tuple[str, ...]:
        """The daemon and the share."""
        share = exports({"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": parameter})
        return ("nvidia-cuda-mps-control -d", *share)
