"""Running the probes: what a failure of one leaves of the others."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

import pytest

from tailwave.errors import UsageError
from tailwave.gpu import probes
from tailwave.gpu.devices.base import DeviceFailedError, DeviceLostError, Feature, Launch
from tailwave.gpu.probes import PROBES, probes_called, run_probes
from tailwave.gpu.probes.lab import Lab
from tailwave.gpu.probes.measure import Figure
from tailwave.gpu.probes.parts import Part, Probe, Results
from tailwave.model import Measurement, Status
from tests.gpu.probes.fake import FakeDevice, write


def raising(error: Exception) -> Callable[[Launch], None]:
    """Return a kernel that cannot be run."""

    def kernel(_: Launch) -> None:
        raise error

    return kernel


def measured(device: FakeDevice, only: list[str]) -> list[Measurement]:
    """Run some probes and return their figures."""
    return [r for r in run_probes(device, only=only) if isinstance(r, Measurement)]


def test_a_failing_probe_does_not_stop_the_next() -> None:
    """The kernels of one probe fail, and the other has its figures."""
    device = FakeDevice({"banks": raising(DeviceFailedError("No such kernel."))})
    found = measured(device, ["launch", "banks"])
    assert {m.status for m in found if m.name.startswith("launch.")} == {Status.OK}
    assert {(m.status, m.reason) for m in found if m.name.startswith("banks.")} == {
        (Status.FAILED, "No such kernel.")
    }


def test_what_a_probe_did_not_get_to_is_named() -> None:
    """A device without clusters, copies or partitions has every figure, with a reason."""
    device = FakeDevice({"smids": raising(DeviceFailedError("No such kernel."))})
    asked = ["topology", "fabric", "copy", "context", "managed"]
    found = measured(device, asked)
    expected = {n for p in PROBES if p.name in asked for part in p.parts for n in part.names}
    assert {m.name for m in found} == expected
    assert all(m.reason and m.value is None for m in found)


@pytest.mark.parametrize(
    ("probe", "feature"),
    [
        ("copy", Feature.COPY),
        ("context", Feature.CONTEXTS),
        ("managed", Feature.MANAGED),
        ("launch", Feature.GRAPHS),
    ],
)
def test_what_a_device_lacks_is_unsupported_for_the_reason_that_it_gives(
    probe: str, feature: Feature
) -> None:
    """Nothing is tried that the device says it cannot do."""
    device = FakeDevice()
    device.features = frozenset()
    reasons = {m.reason for m in measured(device, [probe]) if m.status is Status.UNSUPPORTED}
    assert device.why_not(feature) in reasons
    assert all(reason.startswith("A fake has no ") for reason in reasons)


def test_what_a_part_found_before_it_failed_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the figures that it did not get to have the reason."""

    def run(lab: Lab) -> Results:
        yield lab.summed_up(Figure("x.a", "us"), [1.0])
        raise DeviceFailedError("It broke.")

    monkeypatch.setattr(probes, "PROBES", (Probe("x", (Part(("x.a", "x.b"), run),)),))
    found = [(m.name, m.value, m.status, m.reason) for m in measured(FakeDevice(), [])]
    assert found == [
        ("x.a", 1.0, Status.OK, ""),
        ("x.b", None, Status.FAILED, "It broke."),
    ]


@pytest.mark.parametrize(
    ("quick", "seconds", "samples"), [(False, 44, 10), (False, 46, 3), (True, 9, 5), (True, 11, 3)]
)
def test_a_run_that_is_late_hurries(quick: bool, seconds: int, samples: int) -> None:  # noqa: FBT001
    """After 45 s, or 10 s of a quick run, what remains has the fewest samples of an interval."""
    once = iter([seconds * 1_000_000_000])

    def slow(_: Launch) -> None:
        device.now += next(once, 0)

    def banks(launch: Launch) -> None:
        stride, iterations = launch.args[1:3]
        assert isinstance(stride, int)
        assert isinstance(iterations, int)
        write(launch, [0, iterations * stride])

    device = FakeDevice({"arguments_1": slow, "banks": banks})
    results = run_probes(device, quick=quick, only=["launch", "banks"])
    figures = [r for r in results if isinstance(r, Measurement)]
    ways = [m for m in figures if m.name == "banks.cycles_per_way"]
    assert [m.value for m in ways] == pytest.approx([1.0, 1.0])
    assert [len(m.samples) for m in ways] == [samples] * 2


def test_a_lost_device_keeps_what_was_measured() -> None:
    """Figures come out one by one; the loss comes after those taken before it."""
    device = FakeDevice({"arguments_1": raising(DeviceLostError("It fell off the bus."))})
    kept = map(attrgetter("name"), run_probes(device, only=["launch"]))
    assert [next(kept) for _ in range(5)] == [
        "launch.enqueue",
        "launch.sync",
        "launch.back_to_back",
        "launch.graph_node",
        "launch.graph_launch_host",
    ]
    with pytest.raises(DeviceLostError):
        next(kept)


def test_progress_names_each_probe() -> None:
    """A probe is announced before it runs."""
    begun: list[str] = []
    list(run_probes(FakeDevice(), only=["banks", "launch"], progress=begun.append))
    assert begun == ["launch", "banks"]


@pytest.mark.parametrize(
    ("word", "name"),
    [("fabric", "fabric"), ("L2", "l2"), ("l_2", "l2"), ("Fabric.speedup", "fabric")],
)
def test_a_probe_answers_to_its_name_however_it_is_typed(word: str, name: str) -> None:
    """Case and underscores do not matter, and a figure's name stands for its probe."""
    assert [probe.name for probe in probes_called([word])] == [name]


def test_probes_come_in_running_order() -> None:
    """Whatever the order in which they were asked for; all where none was."""
    assert [probe.name for probe in probes_called(["l2", "launch"])] == ["launch", "l2"]
    assert probes_called([]) == PROBES


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("lunch", " Did you mean launch?"),
        ("bandwidth", " Did you mean l2?"),
        ("latency", " Did you mean fabric or l2?"),
        ("nonsense", ""),
        ("_", ""),
    ],
)
def test_an_unknown_probe_is_a_usage_error(word: str, meant: str) -> None:
    """What is no probe's name is refused, with those that are near it or take such a figure."""
    with pytest.raises(UsageError) as refusal:
        probes_called([word])
    assert str(refusal.value).startswith(
        f"there is no probe {word}.{meant} The probes are {', '.join(p.name for p in PROBES)}."
    )


def test_work_that_does_not_reach_every_sm_is_refused() -> None:
    """Where SM ids do not add up, what chooses SMs has no figures, and the reason says so."""
    device = FakeDevice({"smids": lambda launch: write(launch, [0, 0])})
    (figure,) = {m.reason for m in measured(device, ["topology"])}
    assert figure.startswith("Work reached 1 SMs where the device has 2")


def test_ctas_that_ran_one_after_the_other_are_refused() -> None:
    """More than an instruction a cycle means that the warps were not there together."""
    half = 4_096  # of the cycles that so many instructions take
    device = FakeDevice(
        {
            "issue": lambda launch: write(
                launch, [w for i in range(launch.grid) for w in (i % 2, 0, half)]
            )
        }
    )
    found = measured(device, ["issue"])
    assert {m.status for m in found if m.parameters.get("kind") == "independent"} == {Status.FAILED}
