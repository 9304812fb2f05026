"""How kernels are loaded: set by a variable, told by the driver."""

from __future__ import annotations

import pytest

from tailwave.cures.catalogue import module_loading
from tailwave.cures.catalogue.base import Change, Setting
from tailwave.errors import UsageError
from tests.cures.catalogue.cases import PLAIN, reading


def test_it_sets_the_variable() -> None:
    """Both modes can be asked for; eager is the guess."""
    assert module_loading.parameters(PLAIN) == ("EAGER",)
    assert module_loading.change("LAZY", PLAIN) == Change({"CUDA_MODULE_LOADING": "LAZY"})


def test_an_unknown_mode_is_a_usage_error() -> None:
    """The sentence names the modes."""
    with pytest.raises(UsageError, match="takes EAGER, LAZY"):
        module_loading.change("SOON", PLAIN)


def test_a_mode_that_is_set_already_is_not_tried() -> None:
    """It would be a second null control."""
    setting = Setting(environment={"CUDA_MODULE_LOADING": "EAGER"})
    why = "The program already runs with CUDA_MODULE_LOADING=EAGER."
    assert module_loading.why_not("EAGER", setting) == why
    assert module_loading.why_not("LAZY", setting) == ""


def test_it_is_seen_by_what_the_driver_says() -> None:
    """Read back alike, read back otherwise, not read back."""
    eager, lazy = reading(module_loading="EAGER"), reading(module_loading="LAZY")
    assert module_loading.seen("EAGER", [reading(), lazy, eager]) == (
        True,
        "CUDA_MODULE_LOADING: read back as EAGER inside the program.",
    )
    assert module_loading.seen("EAGER", [lazy]) == (
        False,
        "CUDA_MODULE_LOADING was set, yet inside the program it is LAZY.",
    )
    assert module_loading.seen("EAGER", [{"pid": 1}]) == (
        None,
        "CUDA_MODULE_LOADING was set; no process of the program read it back.",
    )


def test_it_is_kept_by_a_line() -> None:
    """The variable."""
    assert module_loading.lines("EAGER") == ("export CUDA_MODULE_LOADING=EAGER",)
