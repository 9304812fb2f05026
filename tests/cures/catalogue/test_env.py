"""A variable of the user's own."""

from __future__ import annotations

import pytest

from tailwave.cures.catalogue.base import Setting, Treatment
from tailwave.cures.catalogue.env import EnvCure
from tailwave.errors import UsageError
from tests.cures.catalogue.cases import PLAIN

CURE = EnvCure()


def test_it_sets_the_variable() -> None:
    """The value may hold anything, also an equals sign, or nothing."""
    assert CURE.treatment("CUDA_LAUNCH_BLOCKING=1", PLAIN) == Treatment(
        {"CUDA_LAUNCH_BLOCKING": "1"}
    )
    assert CURE.treatment("A_1=b=c:d", PLAIN) == Treatment({"A_1": "b=c:d"})
    assert CURE.treatment("A=", PLAIN) == Treatment({"A": ""})


@pytest.mark.parametrize("parameter", ["", "A", "=1", "1A=1", "A B=1"])
def test_what_is_no_variable_is_a_usage_error(parameter: str) -> None:
    """The sentence shows how it is written."""
    with pytest.raises(UsageError, match="takes NAME=VALUE"):
        CURE.treatment(parameter, PLAIN)


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        ("PATH=", "cannot set PATH .* decides which program runs"),
        ("CUDA_VISIBLE_DEVICES=1", "cannot set CUDA_VISIBLE_DEVICES .* guards look at the GPU"),
        ("CUDA_DEVICE_ORDER=PCI_BUS_ID", "guards look at the GPU"),
        ("TAILWAVE_PLAN=", "tailwave follows them by it"),
        ("LD_PRELOAD=...", "LD_PRELOAD names libraries"),
        ("LD_PRELOAD=/no/lib.so", "there is no library /no/lib.so for LD_PRELOAD"),
        (f"LD_PRELOAD={__file__}:/no/lib.so", "there is no library /no/lib.so"),
    ],
)
def test_what_the_whole_trial_rests_on_cannot_be_set(parameter: str, words: str) -> None:
    """Something else would be measured than the cure."""
    with pytest.raises(UsageError, match=words):
        CURE.treatment(parameter, PLAIN)


def test_a_library_that_is_there_may_be_preloaded() -> None:
    """By its path; one by its name is the loader's to find."""
    libraries = f"{__file__} libjemalloc.so.2"
    assert CURE.treatment(f"LD_PRELOAD={libraries}", PLAIN) == Treatment({"LD_PRELOAD": libraries})


def test_it_is_never_guessed_and_not_tried_twice() -> None:
    """A value that is set already is a second null control."""
    assert CURE.parameters(PLAIN) == ()
    assert CURE.why_not("A=1", PLAIN) == ""
    assert (
        CURE.why_not("A=1", Setting(environment={"A": "1"})) == "The program already runs with A=1."
    )


def test_it_cannot_be_seen_and_is_kept_by_a_quoted_line() -> None:
    """The shell gets the value that was tried."""
    assert CURE.mechanism("A=1", []) == (None, "A=1 was set; what it does is not reported.")
    assert CURE.lines("A=b c") == ("export A='b c'",)
