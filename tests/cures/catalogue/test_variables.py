"""The cures that set one thing in the environment: what they set, refuse and see."""

from __future__ import annotations

import pytest

from tailwave.cures.catalogue.base import Setting, Treatment
from tailwave.cures.catalogue.variables import (
    HOST_THREADS,
    LAUNCH_BLOCKING_OFF,
    MAX_CONNECTIONS,
    MODULE_LOADING,
)
from tailwave.errors import UsageError
from tests.cures.catalogue.cases import PLAIN, reading

_SET = Setting(environment={"CUDA_LAUNCH_BLOCKING": "1"})


def test_launch_blocking_off_unsets_the_variable() -> None:
    """And the line to keep says so."""
    assert LAUNCH_BLOCKING_OFF.parameters(_SET) == ("",)
    assert LAUNCH_BLOCKING_OFF.treatment("", _SET) == Treatment({"CUDA_LAUNCH_BLOCKING": None})
    assert LAUNCH_BLOCKING_OFF.lines("") == ("unset CUDA_LAUNCH_BLOCKING",)


@pytest.mark.parametrize("environment", [{}, {"CUDA_LAUNCH_BLOCKING": "0"}])
def test_launch_blocking_off_where_it_is_not_set_there_is_nothing_to_try(
    environment: dict[str, str],
) -> None:
    """0 is not set, as CUDA has it."""
    setting = Setting(environment=environment)
    assert LAUNCH_BLOCKING_OFF.parameters(setting) == ()
    assert LAUNCH_BLOCKING_OFF.why_not("", setting) == (
        "CUDA_LAUNCH_BLOCKING is not set, so there is nothing to unset."
    )


def test_launch_blocking_off_takes_no_parameter() -> None:
    """A value is a usage error."""
    with pytest.raises(UsageError, match="takes no parameter"):
        LAUNCH_BLOCKING_OFF.treatment("0", _SET)


def test_launch_blocking_off_cannot_be_seen_and_says_so() -> None:
    """Neither yes nor no."""
    assert LAUNCH_BLOCKING_OFF.mechanism("", []).works is None


@pytest.mark.parametrize(
    ("cpus", "gpus", "guesses"),
    [(16, 1, ("8", "1")), (16, 4, ("2", "1")), (2, 1, ("1",)), (1, 1, ("1",)), (8, 0, ("8", "1"))],
)
def test_host_threads_guesses_half_of_a_gpus_cores(
    cpus: int, gpus: int, guesses: tuple[str, ...]
) -> None:
    """And one thread; never none."""
    setting = Setting(environment={}, cpus=cpus, gpus=gpus)
    assert HOST_THREADS.parameters(setting) == guesses


def test_host_threads_sets_both_variables() -> None:
    """OpenMP's and MKL's."""
    change = Treatment({"OMP_NUM_THREADS": "4", "MKL_NUM_THREADS": "4"})
    assert HOST_THREADS.treatment("4", PLAIN) == change
    assert HOST_THREADS.lines("4") == ("export OMP_NUM_THREADS=4", "export MKL_NUM_THREADS=4")


def test_host_threads_no_threads_is_a_usage_error() -> None:
    """There is always one."""
    with pytest.raises(UsageError, match="whole number from 1"):
        HOST_THREADS.treatment("0", PLAIN)


def test_host_threads_is_not_tried_where_both_are_set_so() -> None:
    """One of the two is not enough."""
    both = Setting(environment={"OMP_NUM_THREADS": "4", "MKL_NUM_THREADS": "4"})
    assert HOST_THREADS.why_not("4", both) == (
        "The program already runs with OMP_NUM_THREADS=4 and MKL_NUM_THREADS=4."
    )
    assert HOST_THREADS.why_not("4", Setting(environment={"OMP_NUM_THREADS": "4"})) == ""


def test_host_threads_is_seen_by_what_pytorch_says() -> None:
    """A program that sets its threads itself is told."""
    assert HOST_THREADS.mechanism("4", [reading(threads=4)]).works is True
    assert HOST_THREADS.mechanism("4", [reading(threads=16)]) == (
        False,
        "OMP_NUM_THREADS was set, yet inside the program it is 16.",
    )


def test_max_connections_sets_the_variable() -> None:
    """As many queues as there can be is the guess."""
    assert MAX_CONNECTIONS.parameters(PLAIN) == ("32",)
    assert MAX_CONNECTIONS.treatment("8", PLAIN) == Treatment({"CUDA_DEVICE_MAX_CONNECTIONS": "8"})


@pytest.mark.parametrize("parameter", ["0", "33", "many", "", "3.5", "-1", "²"])
def test_max_connections_what_is_no_number_of_queues_is_a_usage_error(parameter: str) -> None:
    """CUDA takes 1 to 32."""
    with pytest.raises(UsageError, match="whole number from 1 to 32"):
        MAX_CONNECTIONS.treatment(parameter, PLAIN)


def test_max_connections_a_program_that_orders_its_work_by_one_queue_is_left_alone() -> None:
    """More queues would take the order away."""
    one = Setting(environment={"CUDA_DEVICE_MAX_CONNECTIONS": "1"})
    assert "keep communication before compute" in MAX_CONNECTIONS.why_not("32", one)
    assert MAX_CONNECTIONS.why_not("1", one).startswith("The program already runs with")
    assert MAX_CONNECTIONS.why_not("32", PLAIN) == ""


def test_max_connections_cannot_be_seen_and_says_so() -> None:
    """Neither yes nor no."""
    sentence = "CUDA_DEVICE_MAX_CONNECTIONS=32 was set; the driver does not report it."
    assert MAX_CONNECTIONS.mechanism("32", []) == (None, sentence)
    assert MAX_CONNECTIONS.lines("32") == ("export CUDA_DEVICE_MAX_CONNECTIONS=32",)


def test_module_loading_sets_the_variable() -> None:
    """Both modes can be asked for; eager is the guess."""
    assert MODULE_LOADING.parameters(PLAIN) == ("EAGER",)
    assert MODULE_LOADING.treatment("LAZY", PLAIN) == Treatment({"CUDA_MODULE_LOADING": "LAZY"})


def test_module_loading_an_unknown_mode_is_a_usage_error() -> None:
    """The sentence names the modes."""
    with pytest.raises(UsageError, match="takes EAGER, LAZY"):
        MODULE_LOADING.treatment("SOON", PLAIN)


def test_module_loading_a_mode_that_is_set_already_is_not_tried() -> None:
    """It would be a second null control."""
    setting = Setting(environment={"CUDA_MODULE_LOADING": "EAGER"})
    why = "The program already runs with CUDA_MODULE_LOADING=EAGER."
    assert MODULE_LOADING.why_not("EAGER", setting) == why
    assert MODULE_LOADING.why_not("LAZY", setting) == ""


def test_module_loading_is_seen_by_what_the_driver_says() -> None:
    """Read back alike, read back otherwise, not read back."""
    eager, lazy = reading(module_loading="EAGER"), reading(module_loading="LAZY")
    assert MODULE_LOADING.mechanism("EAGER", [reading(), lazy, eager]) == (
        True,
        "CUDA_MODULE_LOADING: read back as EAGER inside the program.",
    )
    assert MODULE_LOADING.mechanism("EAGER", [lazy]) == (
        False,
        "CUDA_MODULE_LOADING was set, yet inside the program it is LAZY.",
    )
    assert MODULE_LOADING.mechanism("EAGER", [{"pid": 1}]) == (
        None,
        "CUDA_MODULE_LOADING was set; no process of the program read it back.",
    )


def test_module_loading_is_kept_by_a_line() -> None:
    """The variable."""
    assert MODULE_LOADING.lines("EAGER") == ("export CUDA_MODULE_LOADING=EAGER",)
