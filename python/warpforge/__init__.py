"""The Python side of WarpForge, joined to the rest by files only."""

__version__ = "0.1.0"
