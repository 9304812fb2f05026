"""Where the data package is."""

from torch.utils import data

__all__ = ["data"]
