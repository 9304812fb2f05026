"""Workers of the DataLoader: as many as the cores allow."""

from __future__ import annotations

import pytest

from tailwave.cures.catalogue.base import Setting
from tailwave.cures.catalogue.choose import answers
from tailwave.cures.catalogue.prefetch import PrefetchCure
from tailwave.errors import UsageError
from tests.cures.catalogue.cases import (
    NO_PYTHON,
    PLAIN,
    UNENTERED,
    acted,
    finding,
    only_task,
    unseen,
)

CURE = PrefetchCure()


@pytest.mark.parametrize(
    ("cpus", "gpus", "guess"), [(16, 1, "8"), (16, 4, "3"), (4, 1, "3"), (1, 1, "1"), (4, 0, "3")]
)
def test_it_guesses_a_gpus_cores_less_one(cpus: int, gpus: int, guess: str) -> None:
    """At most 8, at least 1."""
    assert CURE.parameters(Setting(environment={}, cpus=cpus, gpus=gpus)) == (guess,)


def test_it_asks_the_hook() -> None:
    """For a whole number of workers."""
    assert only_task(CURE, "4") == {"workers": 4}
    with pytest.raises(UsageError, match="whole number from 1"):
        CURE.treatment("0", PLAIN)
    assert CURE.why_not("4", NO_PYTHON) == UNENTERED


def test_it_is_tried_where_a_finding_speaks_of_a_loader() -> None:
    """A host that sleeps is starved too, and workers do not wake it."""
    name = "host in enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__, once"
    assert answers(CURE, finding("host-starved", 0.5, "prefetch", evidence=name))
    assert not answers(CURE, finding("host-starved", 0.5, "prefetch", evidence="sleep"))


def test_it_is_seen_by_the_loaders() -> None:
    """Over all processes."""
    one = acted("prefetch", loaders=1)
    assert CURE.mechanism("4", [one]) == (True, "1 loader ran with 4 workers.")
    assert CURE.mechanism("4", [one, one]) == (True, "2 loaders ran with 4 workers.")
    unseen(CURE, "4")


def test_it_is_kept_by_a_line() -> None:
    """With the number that was tried."""
    assert CURE.lines("4") == ("DataLoader(..., num_workers=4, persistent_workers=True)",)
