"""Packages that are installed and yet not to be imported by others."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def hidden(package: str) -> Iterator[None]:
    """Let `import package` raise ModuleNotFoundError meanwhile; one that has been imported before stays to be had."""
    hide = package not in sys.modules
    if hide:
        sys.modules[package] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if hide:
            del sys.modules[package]
