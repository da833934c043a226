"""Where the parts of this package are installed."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).resolve().parents[1]
"""The directory `tzerlike` itself."""

IMPORTED_FROM: Final = "" if PACKAGE.parent == Path(sysconfig.get_path("purelib")).resolve() else str(PACKAGE.parent)
"""What PYTHONPATH is to hold for an environment of another TVM: a checkout; "" where this package is installed, since
such an environment finds what is installed here, and has to find its own TVM first."""

MEMCOV: Final = PACKAGE / "_memcov" / "libmemcov.so"
"""The coverage library: in a wheel, or compiled by `make setup` in a checkout."""

NOT_BUILT: Final = "has not been built: install the wheel, or run `make setup` in a checkout"
"""What to do where the library, or what is built with it, is missing."""

_SEEDS = (PACKAGE / "seeds", PACKAGE.parent / "seeds")

SEEDS: Final = next((path for path in _SEEDS if path.is_dir()), _SEEDS[0])
"""The hand-written seeds: in the package where it is installed, beside it in a checkout."""
