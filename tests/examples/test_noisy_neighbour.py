"""The noisy neighbour's pieces, on a torch that only counts."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest

from tests.examples.scripts import EXAMPLES, load

example = load(EXAMPLES, "noisy_neighbour")


class Moment:
    """An event that takes a moment to come."""

    def record(self) -> None:
        """Do nothing."""

    def synchronize(self) -> None:
        """Let other threads run."""
        time.sleep(1e-4)


class Torch:
    """What the tenant and the victim use of torch."""

    def __init__(self, fails: Exception | None = None) -> None:
        """Take what goes wrong in each product."""
        self.cuda = self
        self.products: list[str] = []
        self._fails = fails

    Event = Moment

    def set_device(self, number: int) -> None:
        """Take the one there is."""
        assert number == 0

    def current_stream(self) -> Moment:
        """Return something that can be waited for; the tenant has a while to wait."""
        if threading.current_thread().name == "tenant":
            time.sleep(0.05)
        return Moment()

    def synchronize(self) -> None:
        """Do nothing."""

    def mm(self, *_: object, out: object) -> None:
        """Count a product, by the thread that queued it."""
        del out
        if self._fails is not None:
            raise self._fails
        self.products.append(threading.current_thread().name)


def scene(torch: Torch) -> Any:  # noqa: ANN401
    """Return a scene without data."""
    return example.Scene(torch, lambda x: x, None, (1, 2, 3))


def test_the_tenant_works_until_it_is_told_to_stop() -> None:
    """It has finished its first products when the block begins, and is gone after it."""
    torch = Torch()
    with example.Tenant(scene(torch), nullcontext) as tenant:
        assert tenant.mark() >= example.QUEUED
    assert "tenant" not in {thread.name for thread in threading.enumerate()}
    assert set(torch.products) == {"tenant"}


def test_a_tenant_that_fails_is_no_tenant() -> None:
    """What goes wrong in its thread is raised: its absence must not look like a cure."""
    failing = example.Tenant(scene(Torch(RuntimeError("out of memory"))), nullcontext)
    with pytest.raises(RuntimeError, match="out of memory"), failing:
        pass


@pytest.mark.parametrize(
    ("ends", "expected"), [([1.0, 1.5, 2.0], 500.0), ([3.0, 3.001], 1.0), ([3.0, 3.0, 3.006], 3.0)]
)
def test_the_tenants_pace_is_a_mean(ends: list[float], expected: float) -> None:
    """From the first end to the last, by the products between."""
    assert example.pace_ms(ends) == pytest.approx(expected)


@pytest.mark.parametrize("ends", [[], [1.0]])
def test_no_product_is_no_pace(ends: list[float]) -> None:
    """Fewer than two ends give no figure, rather than 0."""
    assert math.isnan(example.pace_ms(ends))


def test_conditions_take_turns_each_set_up_anew() -> None:
    """A round goes through all conditions; each is entered and left before the next."""
    seen: list[str] = []

    def condition(name: str) -> Any:  # noqa: ANN401
        @contextmanager
        def made(scene: Any) -> Iterator[Any]:  # noqa: ANN401
            del scene
            seen.append(f"+{name}")
            yield example.Stage(lambda: None, nullcontext, None)
            seen.append(f"-{name}")

        return made

    conditions = {name: condition(name) for name in ("a", "b")}
    found = example.measure(scene(Torch()), conditions, rounds=2, runs=5)
    assert seen == ["+a", "-a", "+b", "-b"] * 2
    assert {name: len(one.us) for name, one in found.items()} == {"a": 10, "b": 10}
    assert {name: example.tenant_cost(one) for name, one in found.items()} == {"a": None, "b": None}


def test_beside_a_tenant_its_pace_is_noted_each_round() -> None:
    """Where there is a tenant, each round adds the time that its products took."""
    torch = Torch()

    def wait_for_a_product() -> None:
        before = len(torch.products)
        while len(torch.products) == before:
            time.sleep(1e-4)

    @contextmanager
    def beside(scene: Any) -> Iterator[Any]:  # noqa: ANN401
        del scene
        yield example.Stage(wait_for_a_product, nullcontext, nullcontext)

    found = example.measure(scene(torch), {"beside": beside}, rounds=3, runs=5)["beside"]
    assert len(found.us) == 15
    assert len(found.tenant_ms) == 3
    assert all(ms > 0 for ms in found.tenant_ms)


def found() -> dict[str, Any]:
    """Return made-up figures: p99 of 4000 us shared, of 400 us with SMs of its own and a graph."""
    made = {what: example.Found([100.0, 100.0], [2.0]) for what in example.CONDITIONS}
    made[example.SHARED] = example.Found([4000.0, 4000.0], [1.5, 1.7])
    made[example.GRAPH_PARTITION] = example.Found([400.0, 400.0], [2.0])
    made[example.TENANT_ALONE] = example.Found([], [1.4])
    return made


def test_the_sentence_states_what_the_tenant_pays() -> None:
    """The gain of the victim and the cost of the tenant stand in one sentence."""
    assert example.gain(found()) == pytest.approx(10.0)
    assert example.sentence(found()) == (
        "With 32 SMs of its own and a CUDA graph the victim's p99 is 10.0 times lower than on the "
        "shared GPU; the tenant pays 1.60 -> 2.00 ms a product (1.40 ms alone)."
    )


def test_the_tenant_alone_has_no_latency() -> None:
    """Its row has no runs, and its cost as the remark."""
    row = example.rows(found())[-1]
    assert (row.what, row.us, row.remark) == ("the tenant alone", (), "tenant: 1.40 ms a product")
