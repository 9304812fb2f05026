"""The same small steps recorded in the other ways that users record them."""

from __future__ import annotations

import functools

import torch

from benchmarks.workloads.cases import HOST_CAUSES, Case, Graph, Group, Recording, Workload
from benchmarks.workloads.kernels import LARGE, Product
from benchmarks.workloads.models import inference, noise, tower

BRANCH_LAUNCHES = 4


def small() -> Workload:
    """Run a model of short kernels."""
    return Workload(inference(tower(24, 512), noise(64, 512)))


def branches(*, concurrent: bool) -> Workload:
    """Run two branches of half-size grids: side by side on two streams, or in turn."""
    left = Product(6, 11, 8192, LARGE)
    right = Product(6, 11, 8192, LARGE)
    side = torch.cuda.Stream()

    def step() -> None:
        main = torch.cuda.current_stream()
        other = side if concurrent else main
        other.wait_stream(main)
        for _ in range(BRANCH_LAUNCHES):
            left.launch()
            with torch.cuda.stream(other):
                right.launch()
        main.wait_stream(other)

    return Workload(step)


def _recorded(name: str, recording: Recording) -> Case:
    return Case(
        f"mode.{name}",
        small,
        top="launch-bound",
        graph=Graph.TIMED,
        recording=recording,
    )


GROUPS = (
    Group(
        "modes",
        (
            _recorded("bare", Recording(schedule=False, steps=6)),
            _recorded("annotated", Recording(schedule=False, annotation="train_step", steps=6)),
            _recorded("shapes_modules", Recording(shapes=True, modules=True)),
            _recorded("stack", Recording(stack=True)),
        ),
    ),
    Group(
        "branches",
        (
            Case(
                "branches.serial",
                functools.partial(branches, concurrent=False),
                top="small-grid",
                twin="branches.two_streams",
            ),
            Case(
                "branches.two_streams",
                functools.partial(branches, concurrent=True),
                not_top=HOST_CAUSES,
            ),
        ),
    ),
)
