"""The allocator: what the user has set stays, and the setting is read back."""

from __future__ import annotations

import pytest

from tailwave.cures.catalogue.allocator import AllocatorCure
from tailwave.cures.catalogue.base import Setting
from tailwave.cures.catalogue.choose import answers
from tailwave.errors import UsageError
from tests.cures.catalogue.cases import PLAIN, finding, reading

CURE = AllocatorCure()

_EXPANDABLE = "expandable_segments:True"


def environment(cure_parameter: str, **own: str) -> dict[str, str | None]:
    """What the cure makes of a program's own settings."""
    change = CURE.treatment(cure_parameter, Setting(environment=own))
    return change.environment


def test_it_is_set_under_both_names() -> None:
    """PyTorch before 2.9 reads the old one."""
    value = "backend:cudaMallocAsync"
    both = {"PYTORCH_ALLOC_CONF": value, "PYTORCH_CUDA_ALLOC_CONF": value}
    assert environment("cudaMallocAsync") == both


def test_what_the_user_has_set_stays() -> None:
    """It is added to; the old name counts where the new one is not set, as PyTorch has it."""
    old = environment(_EXPANDABLE, PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:128")
    assert set(old.values()) == {"max_split_size_mb:128,expandable_segments:True"}
    new = environment(_EXPANDABLE, PYTORCH_ALLOC_CONF="a:1", PYTORCH_CUDA_ALLOC_CONF="b:2")
    assert set(new.values()) == {"a:1,expandable_segments:True"}


def test_a_key_that_the_user_has_set_is_not_overridden() -> None:
    """Be it set to another value."""
    own = Setting(environment={"PYTORCH_ALLOC_CONF": "a:1, expandable_segments:False"})
    assert CURE.why_not(_EXPANDABLE, own) == (
        "expandable_segments is already set (a:1, expandable_segments:False), "
        "and what the user has set stays."
    )
    assert CURE.why_not("cudaMallocAsync", own) == ""


def test_with_the_asynchronous_backend_there_is_nothing_to_expand() -> None:
    """PyTorch ignores the setting then."""
    own = Setting(environment={"PYTORCH_CUDA_ALLOC_CONF": "backend: cudaMallocAsync"})
    assert "no segments to expand" in CURE.why_not(_EXPANDABLE, own)


def test_an_unknown_setting_is_a_usage_error() -> None:
    """The sentence names those there are."""
    with pytest.raises(UsageError, match="takes expandable_segments:True, cudaMallocAsync"):
        CURE.treatment("backend:native", PLAIN)


def test_it_is_seen_by_what_pytorch_says() -> None:
    """Its backend, and whether its segments can grow."""
    assert CURE.mechanism("cudaMallocAsync", [reading(allocator="cudaMallocAsync")]).works is True
    assert CURE.mechanism("cudaMallocAsync", [reading(allocator="native")]).works is False
    assert CURE.mechanism(_EXPANDABLE, [reading(expandable_segments=True)]).works is True
    assert CURE.mechanism(_EXPANDABLE, [reading(expandable_segments=False)]) == (
        False,
        "expandable_segments:True was set, yet inside the program it is False.",
    )
    assert CURE.mechanism(_EXPANDABLE, [reading(allocator="native")]).works is None


def test_it_is_tried_where_a_finding_speaks_of_allocations() -> None:
    """A wait that is no allocation is not its business."""
    waiting = finding("host-sync", 0.3, "remove-sync", evidence="waits in aten::empty (cudaMalloc)")
    assert answers(CURE, waiting)
    assert not answers(CURE, finding("host-sync", 0.3, "remove-sync", evidence="aten::item"))


def test_it_is_kept_by_two_lines() -> None:
    """One for each name."""
    assert CURE.lines(_EXPANDABLE) == (
        "export PYTORCH_ALLOC_CONF=expandable_segments:True",
        "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    )
