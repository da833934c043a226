"""Where the parts of this package are installed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).resolve().parents[1]
"""The directory `tzerlike` itself."""

MEMCOV: Final = PACKAGE / "_memcov" / "libmemcov.so"
"""The coverage library, which `make setup` compiles."""
