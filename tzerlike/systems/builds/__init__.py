"""Builds of TVM from source whose coverage is counted in edges: making them, keeping them, and running on them."""

from tzerlike.systems.builds.store import BuildDir, Store

__all__ = ["BuildDir", "Store"]
