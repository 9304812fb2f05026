"""Counters and a recording together: what a kernel loses, times what it takes of a step.

Times are the recording's, shares the counters'. The gain for the step comes from the replay, with
the kernels as much shorter as their counters say.
"""

from __future__ import annotations

from collections.abc import Sequence

from tailwave.model import KernelDiagnosis
from tailwave.profiles.join.findings import GRID_CAUSES, of_grids, of_kernels
from tailwave.profiles.join.matching import Index
from tailwave.profiles.join.notes import notes_on
from tailwave.profiles.join.step import ProfiledStep
from tailwave.recordings import Added, Case, Forecast


class Join:
    """Attaches kernel diagnoses to whatever recording is diagnosed with it."""

    def __init__(self, kernels: Sequence[KernelDiagnosis]) -> None:
        """Keep the kernels' diagnoses."""
        self._kernels = tuple(kernels)
        self._index = Index(kernels)

    def __call__(self, case: Case, forecast: Forecast) -> Added:
        """Say what the profiled kernels cost the recording's step."""
        step = ProfiledStep(case, forecast, self._kernels, self._index)
        codes = dict.fromkeys(f.code for kernel in step.kernels for f in kernel.findings)
        found = [of_kernels(step, code) for code in codes if code not in GRID_CAUSES]
        known = [code for code in GRID_CAUSES if step.counted_rows(code).any()]
        found += [of_grids(step, code) for code in known]
        return Added(
            findings=tuple(one for one in found if one is not None),
            kernels=tuple(sorted(step.kernels, key=_lost_of_step, reverse=True)),
            notes=tuple(notes_on(step)),
            instead=frozenset(known),
        )


def _lost_of_step(kernel: KernelDiagnosis) -> tuple[bool, float]:
    """Return whether a kernel is in the step, and the time (us) that it loses of one."""
    place = kernel.in_trace
    share = kernel.findings[0].share if kernel.findings else 0.0
    return place is not None, place.step_us * share if place else 0.0
