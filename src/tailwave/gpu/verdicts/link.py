"""What a link of the scheduling chain is to those who judge it."""

from __future__ import annotations

from typing import Protocol

from tailwave.gpu.verdicts.measurements import Measurements
from tailwave.model import Criterion


class Link(Protocol):
    """A module of this family: what the figures of one link say.

    Its docstring leads with the link's question, and says where each bound comes from.
    """

    @property
    def LINK(self) -> str:  # noqa: N802 - a constant of the module
        """Its name."""

    @property
    def PROBES(self) -> tuple[str, ...]:  # noqa: N802 - as above
        """The probes whose figures it looks at."""

    def criteria(self, figures: Measurements) -> tuple[Criterion, ...]:
        """Hold figures against bounds that are true on any GPU."""

    def claim(self, figures: Measurements) -> str:
        """Word the key figures that there are."""

    def meaning(self, figures: Measurements) -> str:
        """Say what they mean for work on the GPU."""
