"""Names for objects of libraries that need not be installed where types are checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Array: TypeAlias = Any  # a torch.Tensor, a cupy.ndarray
Foreign: TypeAlias = Any  # any other object of torch, CuPy or cuda-core
Values: TypeAlias = "NDArray[np.generic]"  # an array's elements in host memory
