"""How rules word and weigh what they found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import msgspec
import numpy as np

from tailwave.figures import in_one_unit, percent
from tailwave.kernel_names import short
from tailwave.model import (
    Evidence,
    Finding,
    Floats,
    HostKind,
    Ints,
    KernelDiagnosis,
    Severity,
    SmallInts,
)
from tailwave.recordings.replay.change import Change
from tailwave.recordings.replay.division import Cause
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.replay.whatif import alone
from tailwave.recordings.timeline.case import Case

# Severity says how much of a step a cure brings back. The bounds only word the ranking, which
# is by recoverable time alone.
_SEVERITY = ((0.30, Severity.CRITICAL), (0.10, Severity.MAJOR), (0.03, Severity.MINOR))
# Less than this share of a step is not worth a sentence.
_WORTH_SAYING = 0.005
_FRAME_REACH = 400
# Calls whose place in the code is looked up: each is a search.
_MOST_PLACED = 200


class Added(msgspec.Struct, frozen=True):
    """What other sources than the recording have to say of its step.

    ``instead`` names the codes of which they know better than the recording's rules.
    """

    findings: tuple[Finding, ...] = ()
    kernels: tuple[KernelDiagnosis, ...] = ()
    notes: tuple[str, ...] = ()
    instead: frozenset[str] = frozenset()


class Worth(msgspec.Struct, frozen=True):
    """What a cause costs a step.

    ``share`` is the part of the step that a cure brings back; where that cannot be computed
    (``after_us`` is None), the part that the cause takes. ``notes`` and ``condition`` are the
    what-if's.
    """

    now_us: float
    after_us: float | None
    share: float
    notes: tuple[str, ...] = ()
    condition: str = ""

    @property
    def part(self) -> str:
        """The share in words: "38%"."""
        return percent(self.share)

    @property
    def gain(self) -> str:
        """What a cure brings, in words: "7.58 ms would be 0.46 ms"."""
        if self.after_us is None:
            return "what that would bring cannot be computed from this recording"
        now, after = in_one_unit(self.now_us, self.after_us)
        return f"{now} would be {after}"


def worth(forecast: Forecast, whatif: str, taken_us: float) -> Worth:
    """Run a what-if; ``taken_us`` of the recorded step speaks where no replay can."""
    if not forecast.sound:
        return taken_alone(forecast, taken_us)
    answer = alone(forecast, whatif)
    return _gained(forecast, answer.step_us_after, answer.notes, answer.condition)


def worth_of(forecast: Forecast, change: Change, taken_us: float) -> Worth:
    """Run a change that no what-if is named after."""
    if not forecast.sound:
        return taken_alone(forecast, taken_us)
    outlook = forecast.after(change)
    return _gained(forecast, outlook.step_us, outlook.notes)


def taken_alone(forecast: Forecast, us: float) -> Worth:
    """Weigh a cause, to which no change is known, by the time of the recorded step it takes."""
    share = min(us / forecast.now.recorded_us, 1.0) if forecast.now.recorded_us > 0 else 0.0
    return Worth(forecast.now.us, None, share)


def _gained(
    forecast: Forecast, after_us: float, notes: tuple[str, ...], condition: str = ""
) -> Worth:
    now = forecast.now.us
    after = min(max(after_us, 0.0), now)
    return Worth(now, after, (now - after) / now if now > 0 else 0.0, notes, condition)


def finding(  # noqa: PLR0913 - one call words one whole finding, every part named
    worth: Worth,
    *,
    code: str,
    title: str,
    claim: str,
    evidence: Iterable[Evidence],
    cures: tuple[str, ...],
) -> Finding | None:
    """Make a finding of a cause; None when it is not worth a sentence."""
    if not worth.share >= _WORTH_SAYING:
        return None
    return Finding(
        code=code,
        severity=severity(worth.share),
        title=title,
        claim=claim,
        step_us_now=worth.now_us,
        step_us_after=worth.after_us,
        recoverable_us=None if worth.after_us is None else worth.now_us - worth.after_us,
        share=worth.share,
        evidence=(*evidence, *map(Evidence, worth.notes)),
        cures=cures,
        condition=worth.condition,
    )


def severity(share: float) -> Severity:
    """Word the share of a step that a cure brings back."""
    for bound, word in _SEVERITY:
        if share >= bound:
            return word
    return Severity.INFO


def rank(finding: Finding) -> tuple[int, float]:
    """Order findings: by gain, then those whose gain has a condition, then those without one."""
    if finding.recoverable_us is None:
        return 2, -finding.share
    return (1 if finding.condition else 0), -finding.recoverable_us


def counted(count: float, noun: str, plural: str) -> str:
    """Word a number of things: "1 launch", "132 launches", "0.5 launches"."""
    shown = f"{round(count, 1):g}"
    return f"{shown} {noun if shown == '1' else plural}"


def times(count: float) -> str:
    """Word how often something happened in a step."""
    shown = f"{round(count, 1):g}" if count >= 1 else f"{count:.2g}"
    return "once" if shown == "1" else f"{shown} times"


def heaviest(
    codes: Ints | SmallInts, label: Callable[[int], str], weights: Floats | Ints, most: int = 3
) -> list[tuple[str, float, int]]:
    """Sum weights by the labels of codes; the heaviest labels with their total and count."""
    total: Counter[str] = Counter()
    count: Counter[str] = Counter()
    different, inverse = np.unique(codes, return_inverse=True)
    sums = np.bincount(inverse, weights=weights, minlength=len(different))
    counts = np.bincount(inverse, minlength=len(different))
    for code, weight, number in zip(different.tolist(), sums, counts, strict=True):
        total[label(code)] += weight
        count[label(code)] += int(number)
    return [(name, float(weight), count[name]) for name, weight in total.most_common(most)]


def heaviest_kernels(
    case: Case, rows: Ints, weights: Floats | Ints
) -> list[tuple[str, float, int]]:
    """Sum weights of GPU rows by their short names, as ``heaviest`` does."""
    names = case.timeline.names
    return heaviest(case.timeline.gpu.name[rows], lambda code: short(names[code]), weights)


def idle(forecast: Forecast, cause: Cause) -> tuple[Ints, Ints]:
    """Host rows to which idle time of a cause is charged, longest first, and how long (ns)."""
    pieces, case = forecast.division.pieces, forecast.case
    mine = np.flatnonzero((pieces.cause == cause) & (pieces.lane >= 0) & (pieces.stretch >= 0))
    mine = mine[np.argsort(-pieces.ns[mine], kind="stable")]
    rows = np.full(len(mine), -1, dtype=np.int64)
    for number, work in enumerate(case.work):
        own = pieces.lane[mine] == number
        rows[own] = work.row[pieces.stretch[mine[own]]]
    return rows, pieces.ns[mine]


def idle_before(case: Case, forecast: Forecast, cause: Cause) -> list[Evidence]:
    """The kernels before which idle time of a cause lies, as evidence."""
    pieces = forecast.division.pieces
    mine = pieces.cause == cause
    heavy = heaviest_kernels(case, pieces.gpu_row[mine], pieces.ns[mine])
    return [Evidence(f"idle before {name}", case.a_step(ns), "us") for name, ns, _ in heavy]


def operators(case: Case, rows: Ints) -> SmallInts:
    """Codes of the outermost operators around some host rows: what the user's code called."""
    top = np.arange(len(case.timeline.host))
    for lane in case.lanes:
        top[lane.leaf] = lane.top
    return case.timeline.host.name[top[rows]]


def place_of(case: Case, row: int) -> str:
    """Where in the user's code a host row was called: the innermost Python frame outside torch.

    Empty when the recording has no stacks.
    """
    host = case.timeline.host
    moment, thread = host.start[row], host.thread[row]
    last = int(np.searchsorted(host.start, moment, side="right")) - 1
    for index in range(last, max(last - _FRAME_REACH, -1), -1):
        if host.kind[index] == HostKind.PYTHON and host.thread[index] == thread:
            name = case.name_of_host(index)
            if host.end[index] >= moment and ".py(" in name and "torch/" not in name:
                return name
    return ""


def places(case: Case, rows: Ints) -> list[Evidence]:
    """The commonest places in the user's code among calls, with the calls a step, as evidence."""
    if not (case.timeline.host.kind == HostKind.PYTHON).any():
        return []
    called = np.unique(rows[rows >= 0])
    looked = called[:: max(len(called) // _MOST_PLACED, 1)]
    found = Counter(place_of(case, row) for row in looked.tolist())
    found.pop("", None)
    each = len(called) / max(len(looked), 1) / len(case.steps)
    return [
        Evidence(f"called from {place}", count * each, "calls")
        for place, count in found.most_common(2)
    ]
