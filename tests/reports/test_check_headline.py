"""The first line answers what was asked."""

from __future__ import annotations

import msgspec
import pytest

from tailwave.model import DeviceFacts, Health, Verdict
from tailwave.reports.check_headline import headline
from tests.measured import session
from tests.reports.checks import HEALTHY, LOST, NO_DEVICE, SIMULATION

OK, WARNING, CRITICAL, UNKNOWN = Health.OK, Health.WARNING, Health.CRITICAL, Health.UNKNOWN


@pytest.mark.parametrize(
    ("healths", "expected"),
    [
        ((OK, OK), "This GPU schedules as any GPU should: 2 links OK."),
        (
            (OK, UNKNOWN),
            (
                "As far as could be measured, this GPU schedules as any GPU should: b UNKNOWN, "
                "1 link OK."
            ),
        ),
        (
            (UNKNOWN, UNKNOWN),
            "Whether this GPU schedules as any GPU should is not known: a and b UNKNOWN.",
        ),
        (
            (WARNING, OK, UNKNOWN),
            "This GPU does not quite schedule as any GPU should: a WARNING, c UNKNOWN, 1 link OK.",
        ),
        (
            (WARNING, CRITICAL, WARNING, WARNING),
            "This GPU does not schedule as any GPU should: b CRITICAL, a, c and d WARNING.",
        ),
        ((), "This GPU was asked nothing that a verdict rests on."),
    ],
)
def test_the_links_that_are_not_ok_are_named(healths: tuple[Health, ...], expected: str) -> None:
    """The worst come first, and those that are OK are counted."""
    verdicts = tuple(Verdict(link, h, "", "") for link, h in zip("abcd", healths, strict=False))
    assert headline(session(verdicts=verdicts)) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NVIDIA H200", "an H200"),
        ("NVIDIA B200", "a B200"),
        ("NVIDIA RTX 4090", "an RTX 4090"),
        ("NVIDIA GeForce RTX 4060", "a GeForce RTX 4060"),
        ("Intel Arc A770", "an Intel Arc A770"),
    ],
)
def test_with_a_reference_the_model_is_named(name: str, expected: str) -> None:
    """The article is the one that is spoken."""
    device = DeviceFacts(name=name, backend="cuda")
    known = msgspec.structs.replace(HEALTHY, device=device)
    assert headline(known) == f"This GPU schedules as {expected} should: 1 link OK."


def test_a_lost_gpu_does_not_look_healthy() -> None:
    """A run that was cut short begins with its health, whatever had been measured."""
    assert headline(LOST) == (
        "CRITICAL: this GPU was not checked to the end. The GPU stopped answering."
    )


def test_no_device_is_one_sentence() -> None:
    """Without a device the sentence is why."""
    assert headline(NO_DEVICE) == "UNKNOWN: There is no CUDA driver here."


def test_a_simulation_says_so() -> None:
    """A simulated GPU is never just a GPU."""
    assert headline(SIMULATION) == "This simulated GPU schedules as any GPU should: 1 link OK."
