"""What was read of the files that belong to one run of a program."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tailwave.model.kernels import KernelProfiles
from tailwave.model.timeline import Timeline


class Recording(msgspec.Struct, frozen=True):
    """What ``read`` found in some files: one timeline a rank, and the kernel profiles.

    Attributes:
        paths: The files and folders, as they were named.
        timelines: One a rank or process, by rank; empty where only kernels were profiled.
        profiles: One a file of Nsight Compute; empty where there was none.
    """

    paths: tuple[Path, ...]
    timelines: tuple[Timeline, ...]
    profiles: tuple[KernelProfiles, ...] = ()

    @property
    def name(self) -> str:
        """The input as it was named."""
        return " ".join(map(str, self.paths))

    def __repr__(self) -> str:
        """Say what was read, without the columns."""
        gpu = sum(len(timeline.gpu) for timeline in self.timelines)
        launches = sum(len(file.profiles) for file in self.profiles)
        return (
            f"<Recording {self.name}: timelines {len(self.timelines)}, GPU activities {gpu:,}, "
            f"profiled launches {launches:,}>"
        )
