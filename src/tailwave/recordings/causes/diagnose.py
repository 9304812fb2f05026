"""From a Timeline to a Diagnosis: quality, steps, division, findings, in that order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from msgspec.structs import replace

from tailwave.model import (
    Diagnosis,
    Finding,
    HostKind,
    Share,
    Source,
    Timeline,
)
from tailwave.recordings.causes import RULES, slow_steps, straggler, stream_interference
from tailwave.recordings.causes.build import Added, counted, rank
from tailwave.recordings.causes.costliest import costliest
from tailwave.recordings.replay.division import LABELS, Cause, Division
from tailwave.recordings.replay.forecast import Forecast, forecast
from tailwave.recordings.timeline.calls import Call, classify_all
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.interference import streams_are_joined
from tailwave.recordings.timeline.prepare import Prepared, prepare
from tailwave.recordings.timeline.quality import Quality
from tailwave.recordings.timeline.ranks import rank_waits
from tailwave.recordings.timeline.steps import summarise

# Findings that blame idle GPU time on the host; they need a sound record of launches.
_HOST_CAUSES = {"launch-bound", "host-sync", "host-starved", "host-contention"}
More: TypeAlias = Callable[[Case, Forecast], Added]


def diagnose(timelines: Sequence[Timeline], path: str, more: More | None = None) -> Diagnosis:
    """Diagnose a recording: one rank, or the slowest of several.

    ``path`` is the input as the user named it; ``more`` adds what other sources say. Raises
    ValueError for an empty sequence.
    """
    if not timelines:
        message = "no timeline to diagnose"
        raise ValueError(message)
    prepared = prepare_ranks(timelines)
    each = [
        diagnose_rank(timeline, one, more)
        for timeline, one in zip(timelines, prepared, strict=True)
    ]
    shown = _shown(each, prepared)
    chosen = each[shown]
    notes = chosen.notes
    if len(each) > 1:
        notes = (*_rank_notes(timelines, each, shown), *notes)
    return Diagnosis(
        source=Source(
            path=path,
            kind=timelines[shown].kind,
            events=sum(timeline.events for timeline in timelines),
            ranks=tuple(timeline.rank for timeline in timelines),
        ),
        device=chosen.device,
        steps=chosen.steps,
        now=chosen.now,
        division=chosen.division,
        costliest=chosen.costliest,
        findings=chosen.findings,
        notes=notes,
        withheld=chosen.withheld,
        kernels=chosen.kernels,
    )


def prepare_ranks(timelines: Sequence[Timeline]) -> list[Prepared | None]:
    """Prepare each rank; None for one without GPU work."""
    found = [prepare(timeline) if len(timeline.gpu) else None for timeline in timelines]
    places = [index for index, one in enumerate(found) if one is not None]
    waits = rank_waits([one.case.timeline for one in found if one is not None])
    for place, index in enumerate(places):
        if (one := found[index]) is not None:
            found[index] = replace(one, case=replace(one.case, rank_waits=waits, place=place))
    return found


def _shown(each: Sequence[Diagnosis], prepared: Sequence[Prepared | None]) -> int:
    """Choose the rank to be shown: that which the others wait for, else the slowest."""
    took = [diagnosis.steps.mean_us if diagnosis.steps else 0.0 for diagnosis in each]
    slowest = took.index(max(took))
    straggles = any(finding.code == straggler.CODE for finding in each[slowest].findings)
    shown = prepared[slowest]
    if not straggles or shown is None or shown.case.rank_waits is None:
        return slowest
    late = shown.case.rank_waits.late
    return next(i for i, one in enumerate(prepared) if one and one.case.place == late)


def diagnose_rank(
    timeline: Timeline, prepared: Prepared | None, more: More | None = None
) -> Diagnosis:
    """Diagnose one rank on its busiest GPU; ``prepared`` is None where it has no GPU work."""
    source = Source(timeline.path, timeline.kind, timeline.events, (timeline.rank,))
    if prepared is None:
        return Diagnosis(source, None, None, (), (), (_without_gpu(timeline), *timeline.notes))
    case = prepared.case
    notes = (*timeline.notes, *prepared.notes)
    if case.step_us <= 0:
        note = "The usual step lasts 0 ns: there is no time to be divided."
        return Diagnosis(source, case.device, None, (), (), (*notes, note))
    likely = forecast(case)
    added = more(case, likely) if more else Added()
    findings, withheld = _findings(case, likely, prepared.quality, added)
    return Diagnosis(
        source=source,
        device=case.device,
        steps=summarise(case.timeline, case.steps, case.device.index, len(likely.replayed)),
        now=likely.now,
        division=shares(case, likely.division),
        costliest=costliest(case),
        findings=findings,
        notes=(*notes, *_withheld_note(withheld), *_forecast_notes(likely), *added.notes),
        withheld=withheld,
        kernels=added.kernels,
    )


def _without_gpu(timeline: Timeline) -> str:
    """Say that nothing is known of the GPU, and whether it was at work."""
    host = timeline.host
    calls = classify_all(timeline.names)[host.name[host.kind == HostKind.RUNTIME]]
    issuing = int(np.isin(calls, (Call.LAUNCH, Call.COPY)).sum())
    though = f", though {counted(issuing, 'call', 'calls')} issued some" if issuing else ""
    return f"The recording holds no GPU activity{though}: nothing can be said about the GPU."


def shares(case: Case, division: Division) -> tuple[Share, ...]:
    """Divide the mean step: every microsecond in exactly one share, greatest first.

    Of the time in which kernels ran, what they lost by their grids and to other streams is apart.
    """
    kernels = division.us(Cause.KERNEL)
    rows = case.gpu_rows
    found: list[Share] = []
    for code, label, lost in (
        ("stream-interference", "kernels ready, SMs held by others", _held(case)),
        ("wave-tail", "part-filled last waves", case.a_step(case.losses.tail[rows].sum())),
        ("small-grid", "SMs left idle by small grids", case.a_step(case.losses.small[rows].sum())),
    ):
        part = min(lost, kernels)
        kernels -= part
        found.append(Share(code, label, part))
    for cause, (code, label) in LABELS.items():
        us = kernels if cause == Cause.KERNEL else division.us(cause)
        found.append(Share(code, label, us))
    return tuple(sorted((s for s in found if s.us > 0), key=lambda share: -share.us))


def _held(case: Case) -> float:
    if streams_are_joined(case.timeline, case.steps):
        return 0.0
    rows = stream_interference.victim_rows(case)
    return case.a_step(case.interference.waited[rows].sum())


def _findings(
    case: Case, likely: Forecast, quality: Quality, added: Added
) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """Return what the rules find and what was added, and the codes of what is withheld."""
    found: list[Finding] = []
    withheld: list[str] = []
    slow = slow_steps.tail(case, likely)
    rules = [rule for rule in RULES if rule.CODE not in added.instead]
    ours: list[Finding] = [f for rule in rules if (f := rule.find(case, likely)) is not None]
    for finding in (*ours, *added.findings):
        blames_host = finding.code in _HOST_CAUSES
        if not quality.gpu_is_sound or (blames_host and not quality.host_is_sound):
            withheld.append(finding.code)
        elif slow and slow.code == finding.code:
            found.append(replace(finding, evidence=(slow.evidence, *finding.evidence)))
        else:
            found.append(finding)
    return tuple(sorted(found, key=rank)), tuple(withheld)


def _withheld_note(withheld: tuple[str, ...]) -> tuple[str, ...]:
    if not withheld:
        return ()
    return (f"Withheld, because the recording is not sound enough: {', '.join(withheld)}.",)


def _forecast_notes(likely: Forecast) -> tuple[str, ...]:
    """Say what the step that gains count from rests on, where that is in doubt."""
    if not likely.sound:
        return (
            (
                f"Replaying the recording misses its steps by {likely.identity_error:.0%} "
                "(dependencies that were not recorded), so no gain can be predicted."
            ),
        )
    return likely.doubts


def _rank_notes(
    timelines: Sequence[Timeline], each: Sequence[Diagnosis], shown: int
) -> tuple[str, ...]:
    def line(index: int) -> str:
        steps, findings = each[index].steps, each[index].findings
        took = f"{steps.mean_us / 1e3:.2f} ms a step" if steps else "no steps"
        top = findings[0].code if findings else "no finding"
        return f"rank {timelines[index].rank}: {took}, {top}"

    listed = "; ".join(line(index) for index in range(len(each)))
    return (f"{len(each)} ranks; shown is rank {timelines[shown].rank}. {listed}.",)
