"""tailwave says why a GPU waits, and what curing the cause is worth."""

__version__ = "0.1.0"
