"""Streams from chosen SMs: a run in which one of them moved nothing does not count."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tailwave.gpu.devices.base import Buffer, DeviceFailedError, Launch
from tailwave.gpu.probes.lab import Lab
from tailwave.gpu.probes.traffic import flow
from tests.gpu.probes.fake import FakeBuffer, FakeDevice, write

NOTHING = [0, 0, 0, 0]
# Amount, start, end and cycles of an SM.
FIRST, SECOND = [1_000, 100, 150, 90], [2_000, 110, 190, 80]


def lab_of(runs: Sequence[list[list[int]]]) -> Lab:
    """Return a lab whose SMs report these rows, run by run; what is nothing is not written."""
    left = iter(runs)

    def read(launch: Launch) -> None:
        rows = next(left)
        out = launch.args[0]
        assert isinstance(out, FakeBuffer)
        for sm, row in enumerate(rows):
            if row != NOTHING:
                out.values[4 * sm : 4 * sm + 4] = row

    return Lab(FakeDevice({"smids": lambda launch: write(launch, [0, 1]), "read": read}))


def flows(lab: Lab) -> tuple[list[int], ...]:
    """Return what both SMs moved: amounts, starts, ends and cycles."""
    with lab.words(8) as data:
        buffer: Buffer = data
        found = flow(lab, "read", 64, (buffer,), lab.sms)
    return tuple(c.tolist() for c in (found.amount, found.start, found.end, found.cycles))


def test_each_sm_reports_for_itself() -> None:
    """Four words: the amount, start and end on the timer, and cycles."""
    assert flows(lab_of([[FIRST, SECOND]])) == ([1_000, 2_000], [100, 110], [150, 190], [90, 80])


@pytest.mark.parametrize("second", [NOTHING, [2_000, 110, 190, 0], [2_000, 110, 110, 80]])
def test_a_run_that_an_sm_had_no_part_in_is_made_again(second: list[int]) -> None:
    """One that did not run, or that counted no cycles or no time."""
    lab = lab_of([[FIRST, second], [FIRST, second], [FIRST, SECOND]])
    assert flows(lab) == ([1_000, 2_000], [100, 110], [150, 190], [90, 80])


def test_runs_are_not_added_up() -> None:
    """What the first run left is gone before the next: three of them with one SM each are none."""
    lab = lab_of([[FIRST, NOTHING], [NOTHING, SECOND], [FIRST, NOTHING]])
    with pytest.raises(DeviceFailedError, match="Of 2 SMs not all ran the kernel read"):
        flows(lab)


def test_sms_that_were_not_asked_have_no_part() -> None:
    """Only the rows of the chosen ones are read, and only they are told to run."""
    masks: list[list[int]] = []

    def read(launch: Launch) -> None:
        mask = launch.args[-1]
        assert isinstance(mask, FakeBuffer)
        masks.append(mask.values.tolist())
        write(launch, [*NOTHING, *SECOND])

    lab = Lab(FakeDevice({"smids": lambda launch: write(launch, [0, 1]), "read": read}))
    assert flow(lab, "read", 64, (), [1]).amount.tolist() == [2_000]
    assert masks == [[0, 1]]
