"""Builds of TVM from source with edge coverage: making them, keeping them, and running on them."""

from tzerlike.systems.builds.store import BuildDir, Store

__all__ = ["BuildDir", "Store"]
