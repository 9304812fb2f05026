"""ComfyUI's compiler: seen on or off, and paused without a trace."""

from __future__ import annotations

import pytest

from integrations.comfyui import compiler
from integrations.comfyui.tests.fake_comfy import install_comfy


@pytest.mark.parametrize(
    ("switches", "aimdo", "on", "graphing"),
    [
        ({}, True, False, False),
        ({"disable_comfy_compiler": False, "disable_cuda_graphs": False}, True, True, True),
        ({"disable_comfy_compiler": False, "disable_cuda_graphs": True}, True, True, False),
        ({"disable_comfy_compiler": True, "disable_cuda_graphs": False}, True, False, False),
        ({"disable_comfy_compiler": False, "disable_cuda_graphs": False}, False, False, False),
    ],
)
def test_it_is_on_when_nothing_turned_it_off(
    monkeypatch: pytest.MonkeyPatch,
    switches: dict[str, bool],
    aimdo: bool,  # noqa: FBT001
    on: bool,  # noqa: FBT001
    graphing: bool,  # noqa: FBT001
) -> None:
    """It needs a ComfyUI that has it, its memory manager, and neither switch."""
    install_comfy(monkeypatch, aimdo=aimdo, **switches)
    assert (compiler.on(), compiler.graphing()) == (on, graphing)


def test_a_user_who_turned_it_off_keeps_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was on the command line is what is put back."""
    args = install_comfy(monkeypatch, disable_comfy_compiler=True, disable_cuda_graphs=False)
    with compiler.paused():
        assert (args.disable_comfy_compiler, args.disable_cuda_graphs) == (True, True)
    assert (args.disable_comfy_compiler, args.disable_cuda_graphs) == (True, False)


def test_overlapping_pauses_end_with_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first to leave does not turn it on under the other."""
    args = install_comfy(monkeypatch, disable_comfy_compiler=False, disable_cuda_graphs=False)
    with compiler.paused():
        with compiler.paused():
            pass
        assert args.disable_comfy_compiler
    assert not args.disable_comfy_compiler


def test_a_comfyui_without_it_gains_no_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is added to an older ComfyUI's command line."""
    args = install_comfy(monkeypatch)
    with compiler.paused():
        assert vars(args) == {}
    assert vars(args) == {}
