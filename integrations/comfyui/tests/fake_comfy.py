"""The parts of ComfyUI that the nodes meet, in small.

Modelled on Comfy-Org/ComfyUI as of September 2026; what is imitated and where it is written:
``comfy/samplers.py`` at 311c0140 (``CFGGuider.sample`` and ``outer_sample``, whose wrappers go
around ``outer_sample(noise, latent_image, sampler, sigmas, ...)``), ``comfy/model_base.py`` at
094c74c1 (``BaseModel.apply_model``), ``comfy/model_patcher.py`` at 08d0e510 (``clone`` copies the
lists of wrappers and keeps attachments), ``comfy/sampler_helpers.py`` at 53757775 (the patcher's
wrappers join ``model_options`` before the run), ``comfy/model_prefetch.py`` at 03fb330a (the
compiler's switches are read at each call), ``comfy/cli_args.py`` at 03294572 (their names) and
``comfy_api/latest`` at 168efe45 (``io.Schema``, ``io.NodeOutput``, ``ComfyExtension``).
``InterruptProcessingException`` has been an ``Exception`` and is a ``BaseException`` now.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

Wrapper = Callable[..., Any]
Wrappers = dict[str, dict[str, list[Wrapper]]]


class InterruptProcessingError(BaseException):
    """``comfy.model_management.InterruptProcessingException``."""


@dataclass(frozen=True)
class FakeDevice:
    """``torch.device``."""

    type: str = "cuda"
    index: int | None = 0

    def __str__(self) -> str:
        """Write it as torch does."""
        return self.type if self.index is None else f"{self.type}:{self.index}"


@dataclass
class FakeTensor:
    """A tensor of which only the device matters."""

    device: FakeDevice = field(default_factory=FakeDevice)


class Executor:
    """``comfy.patcher_extension.WrapperExecutor``: each wrapper is given what is inside it."""

    def __init__(self, original: Wrapper, wrappers: list[Wrapper]) -> None:
        """Take the innermost function and what goes around it, outermost first."""
        self.original, self.wrappers = original, wrappers

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call what is next."""
        if not self.wrappers:
            return self.original(*args, **kwargs)
        inner = Executor(self.original, self.wrappers[1:])
        return self.wrappers[0](inner, *args, **kwargs)


class FakeModel:
    """``BaseModel``: the weights that clones share, and the network."""

    def __init__(self, network: Callable[[FakeTensor], object]) -> None:
        """Take the network."""
        self.network = network

    def apply_model(self, x: FakeTensor, transformer_options: dict[str, Wrappers]) -> object:
        """Call the network inside the wrappers of this run."""
        keyed = transformer_options["wrappers"].get("apply_model", {})
        return Executor(self.network, [w for ws in keyed.values() for w in ws])(x)


class FakePatcher:
    """``ModelPatcher``."""

    def __init__(self, model: FakeModel, device: FakeDevice | None = None) -> None:
        """Put nothing on the model yet."""
        self.model = model
        self.load_device = device or FakeDevice()
        self.wrappers: Wrappers = {}
        self.attachments: dict[str, object] = {}

    def clone(self) -> FakePatcher:
        """Copy what is put on the model, not the model."""
        other = FakePatcher(self.model, self.load_device)
        other.wrappers = {
            kind: {key: list(these) for key, these in keyed.items()}
            for kind, keyed in self.wrappers.items()
        }
        other.attachments = dict(self.attachments)
        return other

    def add_wrapper_with_key(self, wrapper_type: str, key: str, wrapper: Wrapper) -> None:
        """Put a wrapper around a kind of call."""
        self.wrappers.setdefault(wrapper_type, {}).setdefault(key, []).append(wrapper)

    def remove_wrappers_with_key(self, wrapper_type: str, key: str) -> None:
        """Take those of a key away."""
        self.wrappers.get(wrapper_type, {}).pop(key, None)

    def set_attachments(self, key: str, attachment: object) -> None:
        """Keep an object."""
        self.attachments[key] = attachment

    def get_attachment(self, key: str) -> object | None:
        """Return it."""
        return self.attachments.get(key)


def sample(patcher: FakePatcher, steps: int, tensor: FakeTensor | None = None) -> list[object]:
    """Sample as ``CFGGuider.sample`` and a sampler of one call a step do."""
    x = tensor or FakeTensor(patcher.load_device)
    options = {"wrappers": patcher.wrappers}

    def outer_sample(*_: object, **__: object) -> list[object]:
        return [patcher.model.apply_model(x, options) for _ in range(steps)]

    keyed = patcher.wrappers.get("outer_sample", {})
    sampling = Executor(outer_sample, [w for ws in keyed.values() for w in ws])
    sigmas = [0.0] * (steps + 1)
    result = sampling(
        "noise", "latent", "sampler", sigmas, None, None, "no bar", 7, latent_shapes=[]
    )
    assert isinstance(result, list)
    return result


def install_comfy(
    monkeypatch: pytest.MonkeyPatch, *, aimdo: bool = True, **switches: bool
) -> SimpleNamespace:
    """Put ComfyUI's modules where imports find them; returns its parsed command line."""
    args = SimpleNamespace(**switches)
    cli, memory = ModuleType("comfy.cli_args"), ModuleType("comfy.memory_management")
    cli.args = args  # type: ignore[attr-defined]
    memory.aimdo_enabled = aimdo  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "comfy", ModuleType("comfy"))
    monkeypatch.setitem(sys.modules, "comfy.cli_args", cli)
    monkeypatch.setitem(sys.modules, "comfy.memory_management", memory)
    return args
