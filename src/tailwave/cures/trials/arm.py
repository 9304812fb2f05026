"""One arm of a trial: the program under one treatment, and what its runs have shown so far."""

from __future__ import annotations

from collections.abc import Sequence

from tailwave.cures.catalogue.base import Candidate, Mechanism, Treatment
from tailwave.cures.trials.metric import Figures
from tailwave.cures.trials.outputs import Match, worst
from tailwave.model import OutputMatch

AS_IT_IS = "as it is"
NULL = "null control"


class Arm:
    """What is run under one name in every round.

    ``over`` is the sentence that says why it is not run any more, "" while it is; ``broken`` says
    that this was the program's own failure under the change, ``idle`` that the cure did not take
    hold, ``decided`` that its effects left no doubt, so that it is not run any more either.
    """

    def __init__(self, name: str, treatment: Treatment, candidate: Candidate | None = None) -> None:
        """Nothing has been run yet."""
        self.name, self.treatment, self.candidate = name, treatment, candidate
        self.figures: dict[int, Figures] = {}
        self.outputs: list[Match] = []
        self.mechanism = Mechanism(None, "")
        self.over = ""
        self.broken = self.idle = self.decided = False

    @property
    def match(self) -> Match:
        """How its outputs compare over all rounds."""
        return worst(self.outputs)

    @property
    def outputs_differ(self) -> bool:
        """Tell whether it computes something else than the program as it is."""
        return self.match.match is OutputMatch.DIFFER


def order(arms: Sequence[Arm], number: int) -> list[Arm]:
    """Return the arms in the order of a round (0, 1, ...).

    Each round begins one arm later, so that over as many rounds as there are arms each has every
    place once; the next so many go backwards, so that no arm always follows the same one.
    """
    backwards, begin = divmod(number, len(arms))
    turned = [*arms[begin:], *arms[:begin]]
    return turned[::-1] if backwards % 2 else turned
