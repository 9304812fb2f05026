"""Hardware queues: set by a variable that nobody reads back."""

from __future__ import annotations

import pytest

from tailwave.cures.catalogue import max_connections
from tailwave.cures.catalogue.base import Change, Setting
from tailwave.errors import UsageError
from tests.cures.catalogue.cases import PLAIN


def test_it_sets_the_variable() -> None:
    """As many queues as there can be is the guess."""
    assert max_connections.parameters(PLAIN) == ("32",)
    assert max_connections.change("8", PLAIN) == Change({"CUDA_DEVICE_MAX_CONNECTIONS": "8"})


@pytest.mark.parametrize("parameter", ["0", "33", "many", "", "3.5", "-1", "²"])
def test_what_is_no_number_of_queues_is_a_usage_error(parameter: str) -> None:
    """CUDA takes 1 to 32."""
    with pytest.raises(UsageError, match="whole number from 1 to 32"):
        max_connections.change(parameter, PLAIN)


def test_a_program_that_orders_its_work_by_one_queue_is_left_alone() -> None:
    """More queues would take the order away."""
    one = Setting(environment={"CUDA_DEVICE_MAX_CONNECTIONS": "1"})
    assert "keep communication before compute" in max_connections.why_not("32", one)
    assert max_connections.why_not("1", one).startswith("The program already runs with")
    assert max_connections.why_not("32", PLAIN) == ""


def test_it_cannot_be_seen_and_says_so() -> None:
    """Neither yes nor no."""
    sentence = "CUDA_DEVICE_MAX_CONNECTIONS=32 was set; the driver does not report it."
    assert max_connections.seen("32", []) == (None, sentence)
    assert max_connections.lines("32") == ("export CUDA_DEVICE_MAX_CONNECTIONS=32",)
