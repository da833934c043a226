"""Files that only save time: whole or absent, and skipped if they cannot be written."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def keep(path: Path, data: bytes) -> None:
    """Write `data` as the cache file `path`, unless the file system will not have it."""
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-", delete=False) as file:
            temporary = Path(file.name)
            # Users may share a cache.
            os.fchmod(file.fileno(), 0o644)
            file.write(data)
        temporary.replace(path)
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()
