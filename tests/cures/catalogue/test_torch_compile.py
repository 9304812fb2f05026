"""torch.compile: in both modes, the one with graphs not under HAMi."""

from __future__ import annotations

import pytest

from tailwave.cures.catalogue import torch_compile
from tailwave.cures.catalogue.base import Setting
from tailwave.errors import UsageError
from tests.cures.catalogue.cases import NO_PYTHON, PLAIN, UNENTERED, acted, only_action, unseen


def test_it_asks_the_hook() -> None:
    """The mode with graphs is the only guess; the other one can be named."""
    assert torch_compile.parameters(PLAIN) == ("reduce-overhead",)
    assert only_action(torch_compile, "reduce-overhead") == {"mode": "reduce-overhead"}
    assert only_action(torch_compile, "default") == {"mode": "default"}


def test_an_unknown_mode_is_a_usage_error() -> None:
    """The sentence names those there are."""
    with pytest.raises(UsageError, match="takes default, reduce-overhead"):
        torch_compile.change("max-autotune", PLAIN)


def test_under_hami_only_the_mode_without_graphs_is_tried() -> None:
    """The sentence says which."""
    hami = Setting(environment={}, hami=True)
    assert torch_compile.why_not("reduce-overhead", hami).endswith("try compile:default.")
    assert torch_compile.why_not("default", hami) == ""
    assert torch_compile.why_not("default", NO_PYTHON) == UNENTERED


def test_it_is_seen_by_what_was_compiled() -> None:
    """CUDA graphs that were left out are told."""
    assert torch_compile.seen("default", [acted("compile", compiled=3)]) == (
        True,
        "torch.compile compiled 3 graphs of operators.",
    )
    assert torch_compile.seen("default", [acted("compile", compiled=1, cudagraph_skips=2)]) == (
        True,
        "torch.compile compiled 1 graph of operators and left 2 of its CUDA graphs out.",
    )
    assert torch_compile.seen("default", [acted("compile", compiled=0)]) == (
        False,
        "Nothing was compiled.",
    )
    unseen(torch_compile, "default")


def test_it_is_kept_by_a_line() -> None:
    """In the mode that was tried."""
    assert torch_compile.lines("default") == ('model = torch.compile(model, mode="default")',)
