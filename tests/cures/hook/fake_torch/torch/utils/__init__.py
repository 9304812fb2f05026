"""Where the data package is."""

from torch.utils import data  # type: ignore[import-not-found]

__all__ = ["data"]
