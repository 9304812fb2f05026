"""torch.compile: in both modes."""

from __future__ import annotations

import pytest

from tailwave.cures.catalogue.torch_compile import CompileCure
from tailwave.errors import UsageError
from tests.cures.catalogue.cases import PLAIN, acted, only_task, unseen

CURE = CompileCure()


def test_it_asks_the_hook() -> None:
    """The mode with graphs is the only guess; the other one can be named."""
    assert CURE.parameters(PLAIN) == ("reduce-overhead",)
    assert only_task(CURE, "reduce-overhead") == {"mode": "reduce-overhead"}
    assert only_task(CURE, "default") == {"mode": "default"}


def test_an_unknown_mode_is_a_usage_error() -> None:
    """The sentence names those there are."""
    with pytest.raises(UsageError, match="takes default, reduce-overhead"):
        CURE.treatment("max-autotune", PLAIN)


def test_it_is_seen_by_what_was_compiled() -> None:
    """CUDA graphs that were left out are told."""
    assert CURE.mechanism("default", [acted("compile", compiled=3)]) == (
        True,
        "torch.compile compiled 3 graphs of operators.",
    )
    assert CURE.mechanism("default", [acted("compile", compiled=1, cudagraph_skips=2)]) == (
        True,
        "torch.compile compiled 1 graph of operators and left 2 of its CUDA graphs out.",
    )
    assert CURE.mechanism("default", [acted("compile", compiled=0)]) == (
        False,
        "Nothing was compiled.",
    )
    unseen(CURE, "default")


def test_it_is_kept_by_a_line() -> None:
    """In the mode that was tried."""
    assert CURE.lines("default") == ('model = torch.compile(model, mode="default")',)
