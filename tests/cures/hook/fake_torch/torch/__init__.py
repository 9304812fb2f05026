"""As much of torch as the hook touches, with a GPU that is a word in a tensor's device."""

from __future__ import annotations

import os
import threading
from types import SimpleNamespace

from torch import cuda, nn, optim, profiler, utils  # type: ignore[import-not-found]

__version__ = "0.0.fake"
__all__ = ["cuda", "nn", "optim", "profiler", "utils"]

strided = "strided"
version = SimpleNamespace(cuda=os.environ.get("FAKE_TORCH_CUDA"))
compiler = SimpleNamespace(is_compiling=lambda: False)
_carveout: list[int | None] = [None]
_C = SimpleNamespace(
    _set_sm_carveout_experimental=lambda sms: _carveout.__setitem__(0, sms),
    _get_sm_carveout_experimental=lambda: _carveout[0],
)
Tensor = nn.Tensor


class device:  # noqa: N801  torch's name
    """A kind of device."""

    def __init__(self, kind: str) -> None:
        """Take its word."""
        self.type = kind


_mode = threading.local()


def is_grad_enabled() -> bool:
    """Tell whether gradients are on."""
    return not getattr(_mode, "off", False)


class no_grad:  # noqa: N801  torch's name
    """Turns gradients off."""

    def __enter__(self) -> None:
        """Off."""
        _mode.off = True

    def __exit__(self, *_: object) -> None:
        """On."""
        _mode.off = False


def get_num_threads() -> int:
    """Return a number."""
    return 3


def get_num_interop_threads() -> int:
    """Return a number."""
    return 2
