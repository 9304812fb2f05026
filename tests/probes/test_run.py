"""Running the probes: what a failure of one leaves of the others."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

import pytest

from tailwave.devices.base import DeviceFailedError, DeviceLostError, Launch
from tailwave.errors import UsageError
from tailwave.model import Measurement, Status
from tailwave.probes import PROBES, run_probes
from tests.probes.fake import FakeDevice, write


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
    found = measured(device, ["topology", "fabric", "copy", "context", "managed"])
    expected = {n for p in PROBES[4:10] if p.name != "l2" for part in p.parts for n in part.names}
    assert {m.name for m in found} == expected
    assert all(m.reason and m.value is None for m in found)


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


def test_an_unknown_probe_is_a_usage_error() -> None:
    """A name that is no probe's is refused, with the names that are."""
    with pytest.raises(UsageError, match="no probe lunch"):
        list(run_probes(FakeDevice(), only=["lunch"]))


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
