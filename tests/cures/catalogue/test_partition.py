"""SMs of its own for a named stream: proven by the SMs that a kernel wrote down."""

from __future__ import annotations

import pytest

from tailwave.cures.catalogue.base import Setting
from tailwave.cures.catalogue.partition import PartitionCure
from tailwave.errors import UsageError
from tests.cures.catalogue.cases import (
    NO_PYTHON,
    PLAIN,
    UNENTERED,
    acted,
    diagnosis,
    only_task,
    unseen,
)

CURE = PartitionCure()

_NAMED = Setting(environment={}, diagnosis=diagnosis(), streams=("decoder", "encoder"))


def test_it_guesses_a_quarter_of_the_chip_for_each_named_stream() -> None:
    """In whole steps of 8; 8 where the chip is not known; nothing without a name."""
    assert CURE.parameters(_NAMED) == ("decoder=32", "encoder=32")
    assert CURE.parameters(Setting(environment={}, streams=("decoder",))) == ("decoder=8",)
    assert CURE.parameters(PLAIN) == ()


def test_it_asks_the_hook() -> None:
    """The last equals sign divides the name from the number."""
    assert only_task(CURE, "decoder=16") == {"stream": "decoder", "sms": 16}
    assert only_task(CURE, "a=b=16") == {"stream": "a=b", "sms": 16}


@pytest.mark.parametrize("parameter", ["", "decoder", "=16", "decoder=0", "decoder=many"])
def test_what_is_no_stream_and_number_is_a_usage_error(parameter: str) -> None:
    """The sentence shows how it is written."""
    with pytest.raises(UsageError, match="write"):
        CURE.treatment(parameter, PLAIN)


def test_a_stream_that_there_is_not_is_told() -> None:
    """With the line that names it."""
    assert 'tailwave.stream("vae")' in CURE.why_not("vae=16", _NAMED)
    assert CURE.why_not("decoder=16", _NAMED) == ""
    assert CURE.why_not("decoder=16", NO_PYTHON) == UNENTERED
    assert 'tailwave.stream("NAME")' in CURE.why_not("", PLAIN)


def test_it_is_seen_by_the_sms_that_were_written_down() -> None:
    """More SMs than were given are no CURE."""
    assert CURE.mechanism("decoder=32", [acted("partition", sms=32, proven=32)]) == (
        True,
        "The stream decoder was seen on 32 of 32 SMs of its own.",
    )
    assert CURE.mechanism("decoder=32", [acted("partition", sms=32, proven=132)]) == (
        False,
        "The stream decoder was given 32 SMs and was seen on 132.",
    )
    assert CURE.mechanism("decoder=32", [acted("partition", sms=32)]) == (
        False,
        "No work was seen on SMs of its own.",
    )
    unseen(CURE, "decoder=32")


def test_it_is_kept_by_the_library() -> None:
    """With the number that was tried."""
    assert CURE.lines("decoder=32")[1].startswith("with tailwave.partition(sms=32)")
