"""Files that only save time: whole or absent, and skipped if they cannot be written."""

from __future__ import annotations

import tempfile
from pathlib import Path


def keep(path: Path, data: bytes) -> None:
    """Write `data` as the cache file `path`, unless the file system will not have it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-", delete=False) as file:
            file.write(data)
        Path(file.name).replace(path)
    except OSError:
        return
