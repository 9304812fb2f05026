"""What the probes share: memory for a while, launches everywhere, the SMs, and their latencies."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from tailwave.gpu.devices.base import Buffer, DeviceFailedError, Launch
from tailwave.gpu.probes.lab import Lab
from tests.gpu.probes.fake import FakeBuffer, FakeDevice, write


class Watched(FakeDevice):
    """A device that remembers what was launched, and which memory was given back."""

    def __init__(self, kernels: dict[str, Callable[[Launch], None]] | None = None) -> None:
        """Nothing was launched or taken yet."""
        super().__init__(kernels)
        self.launched: list[Launch] = []
        self.freed: list[int] = []

    def buffer(self, words: int) -> Buffer:
        """Take memory that says when it is given back."""
        freed = self.freed

        class Kept(FakeBuffer):
            def free(self) -> None:
                freed.append(self.words)

        return Kept(words)

    def launch(self, stream: object, launch: Launch) -> None:
        """Remember it and run it."""
        self.launched.append(launch)
        super().launch(stream, launch)  # type: ignore[arg-type]


def lab_of(device: FakeDevice) -> Lab:
    """Return a lab of a quick bench, which asks for fewer lines."""
    return Lab(device, quick=True)


def test_memory_is_given_back() -> None:
    """Also when what it was taken for fails."""
    device = Watched()
    with lab_of(device).words(7) as buffer:
        assert (buffer.words, device.freed) == (7, [])
    with pytest.raises(KeyError), lab_of(device).words(8):
        raise KeyError
    assert device.freed == [7, 8]


def test_everywhere_is_one_cta_on_each_sm() -> None:
    """Each takes all of an SM's shared memory, so that no two share one."""
    device = Watched()
    lab_of(device).run_everywhere("empty", 64, 5)
    assert device.launched == [Launch("empty", 2, 64, (5,), -1)]


def test_short_work_takes_the_median_of_twenty_runs() -> None:
    """In microseconds."""
    device = FakeDevice()
    lab = lab_of(device)
    times_ns = iter(range(1_000, 21_000, 1_000))

    def work() -> None:
        device.now += next(times_ns)

    assert lab.typical(lambda: lab.timed_us(work)) == 10.5


def test_sms_are_found_over_several_launches() -> None:
    """A launch need not reach each SM: those seen add up, ascending."""
    ids = itertools.chain([[3, 3]], itertools.repeat([1, 1]))
    lab = lab_of(FakeDevice({"smids": lambda launch: write(launch, next(ids))}))
    assert lab.sms == (1, 3)


def test_a_mask_has_a_word_for_each_sm_id() -> None:
    """Ids may have gaps; those that were not named are 0."""
    lab = lab_of(FakeDevice({"smids": lambda launch: write(launch, [1, 3])}))
    assert lab.mask([3]).tolist() == [0, 0, 0, 1]
    assert lab.mask([1, 3], 2).tolist() == [0, 2, 0, 2]


def chased(missed: int) -> Lab:
    """Return a lab where work reaches an SM only after it has missed it so many times."""
    tries = itertools.count()

    def chase(launch: Launch) -> None:
        lines, sm = launch.args[2], launch.args[4]
        assert isinstance(lines, int)
        assert isinstance(sm, int)
        if next(tries) % (missed + 1) == missed:
            write(launch, [100 * (sm + 1) + line for line in range(lines)])

    return lab_of(FakeDevice({"smids": lambda launch: write(launch, [0, 1]), "chase": chase}))


@pytest.mark.parametrize("missed", [0, 4])
def test_latencies_have_a_row_for_each_sm(missed: int) -> None:
    """From each SM to 128 lines in a quick run, tried five times."""
    found = chased(missed).latencies
    assert found.shape == (2, 128)
    assert found.dtype == np.float64
    assert found[:, 0].tolist() == [100.0, 200.0]
    assert found[1, 127] == 327.0


def test_an_sm_that_work_never_reaches_is_named() -> None:
    """After five tries."""
    with pytest.raises(DeviceFailedError, match="No work could be placed on SM 0"):
        _ = chased(5).latencies
