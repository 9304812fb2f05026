"""Which SMs the fabric's figures are taken from, on a die of two GPCs that was made up."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from tailwave.gpu.devices.base import Launch
from tailwave.gpu.probes import fabric
from tailwave.gpu.probes.die import Die, Place
from tailwave.gpu.probes.lab import Lab
from tailwave.model import Measurement, Status
from tests.gpu.probes.fake import FakeBuffer, FakeDevice, write

# SM, TPC and GPC: four SMs in the first GPC, two in the other.
PLACES = ((0, 0, 0), (1, 0, 0), (2, 1, 0), (3, 1, 0), (4, 2, 1), (5, 2, 1))
READS = 4096
VICTIM, AGGRESSOR = 2, 1


def lab_of(**kernels: Callable[[Launch], None]) -> Lab:
    """Return a quick lab of that die."""
    device = FakeDevice({"smids": lambda launch: write(launch, list(range(6))), **kernels})
    device.facts = msgspec.structs.replace(device.facts, sm_count=6)
    lab = Lab(device, quick=True)
    lab.die = Die(tuple(Place(sm, tpc, gpc, None, 1.0) for sm, tpc, gpc in PLACES))
    return lab


def figures(lab: Lab, name: str) -> list[Measurement]:
    """Run the part of the probe that gives this figure."""
    (part,) = [part for part in fabric.PROBE.parts if name in part.names]
    return [result for result in part.run(lab) if isinstance(result, Measurement)]


def roles_of(launch: Launch) -> list[int]:
    """Return the role of each SM, which a kernel has as its last argument."""
    roles = launch.args[-1]
    assert isinstance(roles, FakeBuffer)
    return [int(role) for role in roles.values]


def test_speed_ups_are_of_a_tpc_a_gpc_as_many_apart_and_all() -> None:
    """A GPC counts as many SMs as the smallest has; each SM moves as much as one alone does."""
    asked: list[tuple[int, ...]] = []

    def move(launch: Launch) -> None:
        sms = tuple(sm for sm, role in enumerate(roles_of(launch)) if role)
        asked.append(sms)
        write(launch, [w for sm in range(6) for w in ((64, 0, 32, 32) if sm in sms else [0] * 4)])

    found = figures(lab_of(read=move, write=move), "fabric.speedup_tpc")
    assert [(m.name, m.value, m.parameters) for m in found] == [
        (f"fabric.speedup_{name}", float(sms), {"op": op, "sms": sms})
        for op in ("read", "write")
        for name, sms in (("tpc", 2), ("gpc", 2), ("spread", 2), ("chip", 6))
    ]
    assert set(asked) == {(0,), (0, 1), (0, 4), (0, 1, 2, 3, 4, 5)}
    (single, written) = figures(lab_of(read=move, write=move), "fabric.single_sm")
    assert (single.value, single.unit) == (written.value, written.unit) == (2.0, "B/clk")


def loaded(latency: Callable[[int], int], missing: int = 0) -> list[Measurement]:
    """Measure reads that take so long beside a number of aggressors, some of which did not run."""

    def kernel(launch: Launch) -> None:
        roles = roles_of(launch)
        assert [sm for sm, role in enumerate(roles) if role == VICTIM] == [0]
        aggressors = roles.count(AGGRESSOR)
        write(launch, [latency(aggressors)] * READS + [max(aggressors - missing, 0)])

    return figures(lab_of(loaded=kernel), "fabric.loaded_latency")


def test_a_read_is_taken_beside_more_and_more_others() -> None:
    """Alone, then beside SMs of its GPC outside its TPC, then beside those of other GPCs."""
    found = loaded(lambda aggressors: 100 + 10 * aggressors)
    assert [(m.parameters, m.value, m.headline) for m in found] == [
        ({"quantile": quantile, "where": where, "aggressors": count}, 100 + 10 * count, headline)
        for where, count, headline in (
            ("nowhere", 0, True),
            ("same_gpc", 1, False),
            ("same_gpc", 2, True),
            ("other_gpcs", 1, False),
            ("other_gpcs", 2, True),
        )
        for quantile in ("p50", "p99")
    ]


@pytest.mark.parametrize(
    ("latency", "missing", "reason"),
    [
        (100, 1, "Of 2 aggressors 1 ran beside the victim."),
        (0, 0, "Of 2 aggressors 2 ran beside the victim."),
    ],
)
def test_a_read_beside_fewer_than_were_asked_is_no_figure(
    latency: int, missing: int, reason: str
) -> None:
    """Nor is one that was not made."""
    last = loaded(lambda _: latency, missing)[-1]
    assert (last.parameters["aggressors"], last.status, last.reason) == (2, Status.FAILED, reason)


def test_atomics_have_a_word_for_each_sm() -> None:
    """As far apart as the stride says, and one word for all at none."""
    words: dict[object, int] = {}

    def atomics(launch: Launch) -> None:
        data, stride = launch.args[1:3]
        assert isinstance(data, FakeBuffer)
        words[stride] = data.words
        write(launch, [128, 0, 64, 32] * 6)

    found = figures(lab_of(atomics=atomics), "fabric.same_line_atomics")
    assert [(m.parameters["stride"], m.value, m.headline) for m in found] == [
        (0, 12.0, True),
        (32, 12.0, False),
        (4096, 12.0, False),
    ]
    assert all(held * 8 > 5 * int(str(stride)) for stride, held in words.items())
