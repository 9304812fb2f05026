"""The what-ifs: their names, what they ask, and the order in which they combine."""

from __future__ import annotations

from itertools import combinations

import msgspec

from tailwave.model import Prediction
from tailwave.recordings.replay.change import Change
from tailwave.recordings.replay.copy_changes import async_copy
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.replay.gpu_changes import (
    fuse,
    fused_optimizer,
    grid,
    isolated,
    merge_small_grids,
    sm_count,
    spread,
    whole_warps,
)
from tailwave.recordings.replay.host_changes import (
    cuda_graph,
    fed,
    host_speed,
    no_sync,
    unstretched,
)
from tailwave.recordings.replay.pages import prefetch_pages

# What brings back less than this share of the step adds nothing to a combination.
_WORTH_ADDING = 0.01


class WhatIf(msgspec.Struct, frozen=True):
    """One question: its name, and what is changed to answer it.

    ``cures`` are those that a report calls by another name and that bring the change about.
    ``condition`` says on what the answer depends that the recording cannot tell; with one it is a
    bound, stands apart, and no combination counts on it.
    """

    name: str
    question: str
    change: Change
    condition: str = ""
    cures: tuple[str, ...] = ()


# In the order in which they are applied when combined: what is waited for goes first, kernels
# change before they are put into a graph, and the graph comes last because waits cut it.
WHATIFS: tuple[WhatIf, ...] = (
    WhatIf("no-sync", "the host never waits for the GPU", no_sync, cures=("remove-sync",)),
    WhatIf(
        "no-input-stall",
        "the host always has something to issue",
        fed,
        cures=("prefetch", "gpu-preprocessing"),
    ),
    WhatIf(
        "no-contention",
        "no host work is stretched by contention",
        unstretched,
        cures=("host-threads", "free-the-gil"),
    ),
    WhatIf(
        "prefetch-pages",
        "pages of managed memory move ahead of use",
        prefetch_pages,
        cures=("pinned-copies",),
    ),
    WhatIf("async-copy", "copies are pinned and overlapped", async_copy),
    WhatIf(
        "no-interference", "the delayed stream has SMs of its own", isolated, cures=("partition",)
    ),
    WhatIf("fused-optimizer", "one kernel updates all parameters", fused_optimizer),
    WhatIf(
        "fuse",
        "runs of elementwise kernels are one kernel",
        fuse,
        condition="if they work on the same data",
        cures=("compile",),
    ),
    WhatIf(
        "merge-small-grids",
        "neighbouring small grids run as one",
        merge_small_grids,
        condition="if they do not depend on each other",
    ),
    WhatIf(
        "no-wave-tail",
        "every wave of CTAs is whole",
        grid,
        cures=("whole-waves", "persistent-kernel"),
    ),
    WhatIf("whole-warps", "every warp of a CTA is whole", whole_warps),
    WhatIf(
        "no-small-grid",
        "small grids use every SM",
        spread,
        condition="if their work can be split, at best",
        cures=("split-work",),
    ),
    WhatIf("cuda-graph", "each step is one CUDA graph", cuda_graph),
)
_ORDER = {whatif.name: index for index, whatif in enumerate(WHATIFS)}


def sm_count_is(count: int) -> WhatIf:
    """Ask for a chip, or a partition, of ``count`` SMs."""
    return WhatIf(f"sm-count={count}", f"the GPU has {count} SMs", sm_count(count))


def host_speed_is(times: float) -> WhatIf:
    """Ask for a host that issues ``times`` as fast."""
    question = f"the host issues {times:g} times as fast"
    return WhatIf(f"host-speed={times:g}", question, host_speed(times))


def in_order(whatifs: list[WhatIf]) -> list[WhatIf]:
    """Sort what-ifs into the order in which they are applied; the parametrised ones go first."""
    return sorted(whatifs, key=lambda whatif: _ORDER.get(whatif.name, -1))


def answer(forecast: Forecast, whatifs: list[WhatIf]) -> Prediction:
    """Run what-ifs together, each combination once however often it is asked for."""
    chosen = in_order(whatifs)
    names = tuple(whatif.name for whatif in chosen)
    if names not in forecast.answers:
        outlook = forecast.after(*(whatif.change for whatif in chosen))
        now = forecast.now.us
        forecast.answers[names] = Prediction(
            names=names,
            question="; ".join(whatif.question for whatif in chosen),
            step_us_now=now,
            step_us_after=outlook.step_us,
            recoverable_us=now - outlook.step_us,
            notes=outlook.notes,
            condition="; ".join(whatif.condition for whatif in chosen if whatif.condition),
        )
    return forecast.answers[names]


def alone(forecast: Forecast, name: str) -> Prediction:
    """Run the what-if of a name alone."""
    return answer(forecast, [WHATIFS[_ORDER[name]]])


def each_alone(forecast: Forecast) -> list[Prediction]:
    """Run every what-if alone; the most helpful first, those with a condition after the others."""
    answers = [answer(forecast, [whatif]) for whatif in WHATIFS]
    return sorted(answers, key=lambda item: (item.condition != "", -item.recoverable_us))


def best_combination(forecast: Forecast, singles: list[Prediction]) -> Prediction | None:
    """Combine what-ifs that are possible, adding the best until none helps; else None.

    Pairs are tried too, since a graph helps little while waits cut it, and removing the waits
    helps little while the host is slow.
    """

    def after(whatifs: list[WhatIf]) -> float:
        return answer(forecast, whatifs).step_us_after

    chosen: list[WhatIf] = []
    best = forecast.now.us
    changing = [WHATIFS[_ORDER[item.names[0]]] for item in singles if _changes(item, forecast)]
    useful = [whatif for whatif in changing if not whatif.condition]
    while True:
        tries = [[*chosen, *more] for more in _additions(useful, chosen)]
        attempt = min(tries, key=lambda whatifs: (after(whatifs), len(whatifs)), default=chosen)
        if best - after(attempt) < _WORTH_ADDING * forecast.now.us:
            break
        best, chosen = after(attempt), attempt
    # Leave out what the combination does as well without, such as the idle half of a pair.
    for whatif in in_order(chosen):
        others = [other for other in chosen if other is not whatif]
        if others and after(others) - best < _WORTH_ADDING * best:
            chosen = others
    return answer(forecast, chosen) if chosen else None


def _changes(item: Prediction, forecast: Forecast) -> bool:
    return abs(item.recoverable_us) > 0.001 * forecast.now.us


def _additions(useful: list[WhatIf], chosen: list[WhatIf]) -> list[list[WhatIf]]:
    rest = [whatif for whatif in useful if whatif not in chosen]
    return [[whatif] for whatif in rest] + [list(pair) for pair in combinations(rest, 2)]
