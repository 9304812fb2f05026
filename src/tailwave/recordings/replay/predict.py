"""From Timelines to Predictions: what changes to a recorded program would bring."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import msgspec

from tailwave.errors import UnreadableInputError
from tailwave.model import Predictions, Source, Timeline
from tailwave.recordings.replay.engine import run
from tailwave.recordings.replay.forecast import Forecast, forecast
from tailwave.recordings.replay.predicted import predicted_timeline
from tailwave.recordings.replay.whatif import (
    WhatIf,
    answer,
    best_combination,
    each_alone,
    in_order,
)
from tailwave.recordings.timeline.prepare import Prepared, prepare
from tailwave.recordings.timeline.steps import summarise


class Replay(msgspec.Struct, frozen=True):
    """A recording that can be run again: of several ranks the slowest."""

    likely: Forecast
    source: Source
    notes: tuple[str, ...]

    def predict(self, whatifs: Sequence[WhatIf]) -> Predictions:
        """Make changes together; without any, each alone, and look for the best combination."""
        likely, case = self.likely, self.likely.case
        alone = [answer(likely, list(whatifs))] if whatifs else each_alone(likely)
        return Predictions(
            source=self.source,
            device=case.device,
            steps=summarise(case.timeline, case.steps, case.device.index, len(likely.replayed)),
            now=likely.now,
            what_ifs=tuple(alone),
            combined=None if whatifs else best_combination(likely, alone),
            notes=self.notes,
        )

    def timeline(self, whatifs: Sequence[WhatIf]) -> Timeline:
        """Return the timeline that is predicted under some changes."""
        program, _ = self.likely.changed(*(whatif.change for whatif in in_order(list(whatifs))))
        return predicted_timeline(self.likely, program, run(program))


def replay(timelines: Iterable[Timeline], path: str) -> Replay:
    """Prepare a recording for what-ifs; ``path`` is the input as the user named it.

    Raises UnreadableInputError for one whose predictions would mean nothing.
    """
    recorded = list(timelines)
    ranks = [timeline for timeline in recorded if len(timeline.gpu)]
    if not ranks:
        why = f"{path} holds no GPU activity, so nothing can be replayed."
        raise UnreadableInputError(
            " ".join((why, *chain.from_iterable(one.notes for one in recorded[:1])))
        )
    slowest = max((prepare(timeline) for timeline in ranks), key=lambda one: one.case.step_us)
    likely = _forecast(slowest, path)
    source = Source(
        path=path,
        kind=ranks[0].kind,
        events=sum(timeline.events for timeline in ranks),
        ranks=tuple(timeline.rank for timeline in ranks),
    )
    return Replay(likely, source, (*_rank_notes(ranks, slowest), *slowest.notes, *likely.doubts))


def _forecast(prepared: Prepared, path: str) -> Forecast:
    if prepared.case.step_us <= 0:
        raise UnreadableInputError(f"the usual step of {path} lasts 0 ns: nothing can be saved.")
    if not prepared.quality.gpu_is_sound:
        reasons = " ".join(prepared.quality.notes)
        raise UnreadableInputError(f"{path} is not sound enough to be replayed. {reasons}")
    likely = forecast(prepared.case)
    if not likely.sound:
        raise UnreadableInputError(
            f"replaying {path} misses its recorded steps by {likely.identity_error:.0%} "
            "(dependencies that were not recorded), so nothing can be predicted from it."
        )
    return likely


def _rank_notes(ranks: list[Timeline], shown: Prepared) -> tuple[str, ...]:
    if len(ranks) == 1:
        return ranks[0].notes
    rank = shown.case.timeline.rank
    note = f"{len(ranks)} ranks; replayed is the slowest, rank {rank}."
    return (note, *next(timeline.notes for timeline in ranks if timeline.rank == rank))
