"""From a Timeline to a Diagnosis: quality, steps, division, findings, in that order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tailwave.model import (
    Diagnosis,
    Finding,
    Share,
    Source,
    Timeline,
)
from tailwave.recordings.causes import RULES, stream_interference
from tailwave.recordings.causes.build import Added
from tailwave.recordings.replay.forecast import Forecast, forecast
from tailwave.recordings.timeline.attribution import Cause
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.interference import streams_are_joined
from tailwave.recordings.timeline.intervals import overlap, union
from tailwave.recordings.timeline.losses import communication
from tailwave.recordings.timeline.prepare import prepare
from tailwave.recordings.timeline.quality import Quality
from tailwave.recordings.timeline.steps import summarise

# Findings that blame idle GPU time on the host; they need a sound record of launches.
_HOST_CAUSES = {"launch-bound", "host-sync", "host-starved", "host-contention"}
# A profiler's cost below this share of the step is not worth a note.
_SAME_STEP = 0.02
_LABELS = {
    Cause.LAUNCH: ("launch-bound", "idle, waiting for launches"),
    Cause.SYNC: ("host-sync", "idle after the host waited"),
    Cause.BLOCKED_COPY: ("blocking-copy", "idle after a copy held the host"),
    Cause.STARVED: ("host-starved", "idle, host issues nothing"),
    Cause.CONTENTION: ("host-contention", "idle, host work stretched"),
    Cause.LATENCY: ("gpu-latency", "switching from kernel to kernel"),
    Cause.UNKNOWN: ("unknown", "idle, launch not recorded"),
}

More: TypeAlias = Callable[[Case, Forecast], Added]


def diagnose(timelines: Sequence[Timeline], path: str, more: More | None = None) -> Diagnosis:
    """Diagnose a recording: one rank, or the slowest of several.

    ``path`` is the input as the user named it; ``more`` adds what other sources say. Raises
    ValueError for an empty sequence.
    """
    if not timelines:
        message = "no timeline to diagnose"
        raise ValueError(message)
    each = [diagnose_rank(timeline, more) for timeline in timelines]
    took = [diagnosis.steps.median_us if diagnosis.steps else 0.0 for diagnosis in each]
    slowest = took.index(max(took))
    chosen = each[slowest]
    notes = chosen.notes
    if len(each) > 1:
        notes = (*_rank_notes(timelines, each, slowest), *notes)
    return Diagnosis(
        source=Source(
            path=path,
            kind=timelines[slowest].kind,
            events=sum(timeline.events for timeline in timelines),
            ranks=tuple(timeline.rank for timeline in timelines),
        ),
        device=chosen.device,
        steps=chosen.steps,
        division=chosen.division,
        findings=chosen.findings,
        notes=notes,
        withheld=chosen.withheld,
        kernels=chosen.kernels,
    )


def diagnose_rank(timeline: Timeline, more: More | None = None) -> Diagnosis:
    """Diagnose one rank on its busiest GPU."""
    source = Source(timeline.path, timeline.kind, timeline.events, (timeline.rank,))
    if len(timeline.gpu) == 0:
        note = (
            "The recording holds no GPU activity, so nothing can be said about the GPU: record "
            "with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]."
        )
        return Diagnosis(source, None, None, (), (), (*timeline.notes, note))
    prepared = prepare(timeline)
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
        steps=summarise(case.timeline, case.steps, case.device.index),
        division=division(case),
        findings=findings,
        notes=(*notes, *_withheld_note(withheld), *_forecast_notes(likely), *added.notes),
        withheld=withheld,
        kernels=added.kernels,
    )


def division(case: Case) -> tuple[Share, ...]:
    """Divide the typical step: every microsecond in exactly one share, greatest first."""
    kernels = case.cause_us(Cause.KERNEL)
    rows = case.gpu_rows
    shares: list[Share] = []
    for code, label, lost in (
        ("collectives", "only collectives (NCCL, RCCL)", _collectives_alone(case)),
        ("stream-interference", "kernels ready, SMs held by others", _held(case)),
        ("wave-tail", "part-filled last waves", float(case.losses.tail[rows].sum()) / 1e3),
        ("small-grid", "SMs left idle by small grids", float(case.losses.small[rows].sum()) / 1e3),
    ):
        part = min(lost, kernels)
        kernels -= part
        shares.append(Share(code, label, part))
    shares.append(Share("kernels", "kernels at work", kernels))
    shares.append(Share("copies", "only copies", case.cause_us(Cause.COPY)))
    for cause, (code, label) in _LABELS.items():
        shares.append(Share(code, label, case.cause_us(cause)))
    return tuple(sorted((s for s in shares if s.us > 0), key=lambda share: -share.us))


def _collectives_alone(case: Case) -> float:
    """Time of the step in which nothing but collectives ran (us)."""
    gpu = case.timeline.gpu
    mine = gpu.device == case.device.index
    others = mine & ~communication(case.timeline)
    step = slice(case.step, case.step + 1)
    low, high = case.steps.complete_from[step], case.steps.complete_to[step]
    busy, busy_else = (
        overlap(*union(gpu.start[rows], gpu.end[rows]), low, high) for rows in (mine, others)
    )
    return float((busy - busy_else)[0]) / 1e3


def _held(case: Case) -> float:
    if streams_are_joined(case.timeline, case.steps):
        return 0.0
    waited = case.interference.waited[stream_interference.victim_rows(case)]
    return float(waited.sum()) / 1e3


def _findings(
    case: Case, likely: Forecast, quality: Quality, added: Added
) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """Return what the rules find and what was added, and the codes of what is withheld."""
    found: list[Finding] = []
    withheld: list[str] = []
    rules = [rule for rule in RULES if rule.CODE not in added.instead]
    ours: list[Finding] = [f for rule in rules if (f := rule.find(case, likely)) is not None]
    for finding in (*ours, *added.findings):
        blames_host = finding.code in _HOST_CAUSES
        sound = quality.gpu_is_sound and likely.sound
        if not sound or (blames_host and not quality.host_is_sound):
            withheld.append(finding.code)
        else:
            found.append(finding)
    found.sort(key=lambda finding: -finding.recoverable_us)
    return tuple(found), tuple(withheld)


def _withheld_note(withheld: tuple[str, ...]) -> tuple[str, ...]:
    if not withheld:
        return ()
    return (f"Withheld, because the recording is not sound enough: {', '.join(withheld)}.",)


def _forecast_notes(likely: Forecast) -> tuple[str, ...]:
    """Say what the step likely takes without the profiler, or why that cannot be said."""
    if not likely.sound:
        return (
            (
                f"Replaying the recording misses its steps by {likely.identity_error:.0%} "
                "(dependencies that were not recorded), so no gain can be predicted."
            ),
        )
    if not likely.overhead.known:
        return (likely.unknown_cost,) if likely.unknown_cost else ()
    recorded, now = likely.recorded_us, likely.now_us
    if recorded - now < _SAME_STEP * recorded:
        return ()
    return (
        (
            f"Findings count from {now / 1e3:.2f} ms a step ({likely.low_us / 1e3:.2f} to "
            f"{likely.high_us / 1e3:.2f}), the likely time without the profiler; recorded were "
            f"{recorded / 1e3:.2f} ms."
        ),
    )


def _rank_notes(
    timelines: Sequence[Timeline], each: Sequence[Diagnosis], slowest: int
) -> tuple[str, ...]:
    def line(index: int) -> str:
        steps, findings = each[index].steps, each[index].findings
        took = f"{steps.median_us / 1e3:.2f} ms a step" if steps else "no steps"
        top = findings[0].code if findings else "no finding"
        return f"rank {timelines[index].rank}: {took}, {top}"

    listed = "; ".join(line(index) for index in range(len(each)))
    return (f"{len(each)} ranks; shown is the slowest, rank {timelines[slowest].rank}. {listed}.",)
