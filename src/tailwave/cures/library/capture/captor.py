"""What every way of capturing is: a captor makes buckets, and each bucket replays one graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Objects of libraries that need not be installed where types are checked.
Array: TypeAlias = Any  # a torch.Tensor, a cupy.ndarray
Foreign: TypeAlias = Any  # any other object of torch, CuPy or cuda-core
Values: TypeAlias = "NDArray[np.generic]"  # an array's elements in host memory

WARM_UPS = 3  # plain calls before a capture: libraries load and tune their kernels in the first


class Bucket(Protocol):
    """One captured graph. ``agreement`` says how its replays agree with plain calls."""

    agreement: str

    def why_not(self) -> str:
        """Return why the next call cannot be replayed; "" when it can."""

    def run(self, leaves: list[object]) -> object:
        """Replay it on the current stream."""

    def close(self) -> None:
        """Free it."""


class Captor(Protocol):
    """Makes graphs of one function in one library's way."""

    def describe(self, leaf: object) -> tuple[object, ...]:
        """Return what an argument adds to a bucket's key."""

    def mode(self) -> dict[str, object]:
        """Return what else the key is made of, each by the words for what changed."""

    def is_capturing(self) -> bool:
        """Tell whether the current stream is being captured by somebody else."""

    def capture(self, args: tuple[object, ...], kwargs: dict[str, object]) -> Bucket:
        """Capture a call; raises GraphRefusedError. The program's state is then as before."""

    def close(self) -> None:
        """Free what the graphs share."""
