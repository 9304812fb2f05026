"""Which cures a diagnosis calls for, in order of the most that each can bring.

The bound of a cure comes from the findings that it answers, before anything is applied: what
curing them gives back, as a share of the step. Several add up, as far as there is anything left to
give: causes on the host cost the GPU no more than the time in which it idles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from tailwave.cures.catalogue.base import ANYTHING, Candidate, Cure, Setting, busy_share
from tailwave.errors import UsageError
from tailwave.figures import percent
from tailwave.model import Diagnosis, Finding

# A trial tells 2% from noise at best: what can bring less is not worth the runs.
WORTH_TRYING: Final = 0.02

# Findings whose lost time is idle time of the GPU.
_HOST_CAUSES: Final = {"launch-bound", "host-sync", "host-starved", "host-contention"}

# Cures that make every run a minute longer, for they compile first.
_SLOW: Final = {"compile"}

# Cures that the cures bring about in part only: the rest is always for the reader.
_IN_PART: Final = {"remove-sync", "partition"}

# What to do oneself where no cure can be tried, by the cure as findings name it: it needs the
# program's source, or root, or it is not for the machine at hand. It is printed and never run.
ADVICE: Final = {
    "cuda-graph": (
        "Record the step as a CUDA graph and replay it with one launch: tailwave.graph, "
        "torch.cuda.make_graphed_callables, or cudaStreamBeginCapture in C++."
    ),
    "compile": "Fuse the step's small operators: torch.compile, or kernels that do more each.",
    "fused-optimizer": "Make the optimizer with fused=True.",
    "remove-sync": (
        "Keep what the host waits for on the GPU: torch.where instead of if, a tensor for the "
        "loss, logging every n steps; or copy it without waiting and read it a step later."
    ),
    "prefetch": (
        "Prepare the next batch while this one runs: a thread or process of its own, "
        "or tailwave.staged around the loader."
    ),
    "gpu-preprocessing": "Move decoding and augmentation to the GPU (torchvision v2, NVIDIA DALI).",
    "free-the-gil": (
        "Move the Python work of other threads to processes, or to code that releases Python's "
        "lock, so that the thread that issues the GPU's work can run."
    ),
    "host-threads": (
        "Start no more threads than there are cores (OMP_NUM_THREADS, torch.set_num_threads), and "
        "give the issuing thread one of its own (taskset, numactl, the container's limits)."
    ),
    "async-copy": (
        "Copy the next batch from pinned memory while this one runs: pin_memory=True in the "
        "loader, non_blocking=True on a stream of its own, or tailwave.staged around the loader."
    ),
    "partition": (
        "Give the delayed stream SMs of its own: with tailwave.partition, or by a name "
        "(tailwave.stream) so that partition can be tried. Only MIG divides L2 and memory too; "
        "it needs root and an idle GPU: `nvidia-smi -mig 1`."
    ),
    "split-work": "Make small grids larger: split-k, smaller tiles, a larger batch.",
    "merge-small-grids": (
        "Batch small independent kernels into one, or run them at once on several streams."
    ),
    "whole-waves": "Choose tiles so that the grid is a whole number of waves (split-k, stream-k).",
    "persistent-kernel": (
        "Launch as many CTAs as fit the chip, each taking tiles until none is left."
    ),
}


class Dropped(msgspec.Struct, frozen=True):
    """A candidate that is not worth a trial, or cannot have one, and the sentence that says why."""

    candidate: Candidate
    why: str


class Choice(msgspec.Struct, frozen=True):
    """What a diagnosis calls for: candidates, greatest bound first; those dropped; advice.

    ``reserves`` are slow to try, and wait for a candidate that answers the same finding to fail.
    ``advice`` are cures that need root or the program's source: to be printed, never run.
    """

    candidates: tuple[Candidate, ...] = ()
    reserves: tuple[Candidate, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    advice: tuple[str, ...] = ()


def named(spec: str, setting: Setting, cures: Sequence[Cure]) -> Candidate:
    """Return the candidate that a user names; without a parameter, with its best guess.

    Its bound is that of the setting's diagnosis. Raises UsageError for a name or a parameter that
    there is not.
    """
    name, _, parameter = spec.partition(":")
    cure = next((one for one in cures if name == one.NAME), None)
    if cure is None:
        raise UsageError(
            f"there is no cure {name}; the cures are {', '.join(one.NAME for one in cures)}."
        )
    guess = (*cure.parameters(setting), "")[0]
    candidate = _candidate(cure, parameter or guess, setting.diagnosis)
    if candidate.parameter or not candidate.why_not(setting):
        candidate.change(setting)  # raises for a parameter that means nothing
    return candidate


def choose(diagnosis: Diagnosis | None, setting: Setting, cures: Sequence[Cure]) -> Choice:
    """Choose from a diagnosis; without one, only what undoes an obvious mistake is called for."""
    setting = msgspec.structs.replace(setting, diagnosis=diagnosis)
    kept: list[Candidate] = []
    dropped: list[Dropped] = []
    for candidate in _called_for(setting, cures):
        why = _too_little(candidate) or candidate.why_not(setting)
        if why:
            dropped.append(Dropped(candidate, why))
        else:
            kept.append(candidate)
    kept.sort(key=lambda candidate: -(candidate.bound or 0.0))
    reserves = [candidate for candidate in kept if _can_wait(candidate, kept)]
    return Choice(
        candidates=tuple(candidate for candidate in kept if candidate not in reserves),
        reserves=tuple(reserves),
        dropped=tuple(dropped),
        advice=tuple(_advice(diagnosis, kept)),
    )


def stands_in(reserve: Candidate, candidate: Candidate) -> bool:
    """Tell whether a reserve answers a finding that a candidate answers."""
    return not set(reserve.codes).isdisjoint(candidate.codes)


def _can_wait(candidate: Candidate, kept: Sequence[Candidate]) -> bool:
    """Tell whether a candidate is slow to try, and a quicker one answers what it answers."""
    quick = [other for other in kept if other.cure.NAME not in _SLOW]
    return candidate.cure.NAME in _SLOW and any(stands_in(candidate, other) for other in quick)


def _called_for(setting: Setting, cures: Sequence[Cure]) -> Iterator[Candidate]:
    """Yield the candidates of each cure that answers a finding, or whatever is wrong."""
    for cure in cures:
        for parameter in cure.parameters(setting):
            candidate = _candidate(cure, parameter, setting.diagnosis)
            if candidate.codes or ANYTHING in cure.ANSWERS:
                yield candidate


def _candidate(cure: Cure, parameter: str, diagnosis: Diagnosis | None) -> Candidate:
    findings = diagnosis.findings if diagnosis is not None else ()
    mine = [finding for finding in findings if answers(cure, finding)]
    bound = _bound(mine, diagnosis)
    if bound is None and ANYTHING in cure.ANSWERS:
        bound = _idle_share(diagnosis)
    return Candidate(cure, parameter, bound, tuple(finding.code for finding in mine))


def answers(cure: Cure, finding: Finding) -> bool:
    """Tell whether a finding names a cure that the cure brings about."""
    if ANYTHING in cure.ANSWERS:
        return True
    said = (finding.claim, *(piece.what for piece in finding.evidence))
    return not set(cure.ANSWERS).isdisjoint(finding.cures) and (
        not cure.EVIDENCE or any(word in text for word in cure.EVIDENCE for text in said)
    )


def _bound(findings: Sequence[Finding], diagnosis: Diagnosis | None) -> float | None:
    """Return the most that curing these findings gives back, as a share of the step."""
    if not findings:
        return None
    shares = [finding.recoverable_us / finding.step_us_now for finding in findings]
    most = 1.0
    idle = _idle_share(diagnosis)
    if idle is not None and {finding.code for finding in findings} <= _HOST_CAUSES:
        most = max(idle, *shares)  # each by itself is what its replay says
    return min(sum(shares), most)


def _idle_share(diagnosis: Diagnosis | None) -> float | None:
    busy = busy_share(diagnosis)
    return None if busy is None else 1.0 - busy


def _too_little(candidate: Candidate) -> str:
    if candidate.bound is None or candidate.bound >= WORTH_TRYING:
        return ""
    return (
        f"It can save at most {percent(candidate.bound)} of the step, less than the "
        f"{WORTH_TRYING:.0%} that a trial can tell from noise."
    )


def _advice(diagnosis: Diagnosis | None, kept: Sequence[Candidate]) -> Iterator[str]:
    """Yield what to do oneself about the findings that count, where no candidate does it."""
    covered = {cure for candidate in kept for cure in candidate.cure.ANSWERS} - _IN_PART
    told: set[str] = set()
    for finding in diagnosis.findings if diagnosis is not None else ():
        if finding.recoverable_us < WORTH_TRYING * finding.step_us_now:
            continue
        for cure in finding.cures:
            if cure in ADVICE and cure not in covered | told:
                told.add(cure)
                yield f"For {finding.code}: {ADVICE[cure]}"
