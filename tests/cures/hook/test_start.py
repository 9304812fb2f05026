"""Which of a program's processes is a main one."""

from __future__ import annotations

import os

import pytest

from tailwave.cures.hook.start import claim

OWN = str(os.getpid())


@pytest.mark.parametrize(
    ("environment", "main"),
    [
        ({}, True),
        ({"TAILWAVE_TRIAL_ROOT": f"{OWN}:"}, True),  # it has replaced itself by exec
        ({"TAILWAVE_TRIAL_ROOT": "1:"}, False),
        ({"TAILWAVE_TRIAL_ROOT": "1:", "RANK": "0"}, True),  # torchrun's first rank
        ({"TAILWAVE_TRIAL_ROOT": "1:", "RANK": "1"}, False),
        ({"TAILWAVE_TRIAL_ROOT": "1:0", "RANK": "0"}, False),  # a helper of the first rank
        ({"RANK": "0"}, True),  # under a launcher that is no Python program
        ({"RANK": "3"}, False),
    ],
)
def test_who_is_main(environment: dict[str, str], main: bool) -> None:  # noqa: FBT001
    """The process that the trial started, or the first rank under a launcher."""
    assert claim(environment) is main


def test_a_process_leaves_its_number_to_its_children() -> None:
    """With its rank, so that a child that inherits the rank is not taken for one."""
    environment = {"RANK": "0"}
    claim(environment)
    assert environment["TAILWAVE_TRIAL_ROOT"] == f"{OWN}:0"
    assert claim({**environment, "TAILWAVE_TRIAL_ROOT": "1:0"}) is False
