"""What a trial has to know of the machine that it runs on."""

from __future__ import annotations

import msgspec


class Machine(msgspec.Struct, frozen=True):
    """The GPU and its driver ("" if unknown), and what can be done here.

    ``mps_why_not`` is the sentence that says why no MPS daemon can be started, "" where one can.
    Under HAMi there is no trial at all (see ``guards``).
    """

    gpu: str = ""
    driver: str = ""
    gpus: int = 0
    cpus: int = 1
    mps_why_not: str = ""
