"""Lists the blocks of the TVM in a zygote: their addresses are known only where it is loaded."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tzerlike.processes.lane import Lane


def list_blocks(
    lane: Lane, runner: socket.socket, report: Callable[[dict[str, Any]], None], params: dict[str, Any]
) -> None:
    """Write the addresses of each library's blocks to a file in `directory`, and report the library and the file."""
    for number, library in enumerate(lane.coverage.libraries):
        path = Path(params["directory"]) / f".addresses-{os.getpid()}-{number}.npy"
        np.save(path, library.addresses)
        report(
            {
                "event": "blocks",
                "backend": lane.coverage.backend,
                "library": str(library.path),
                "addresses": str(path),
            }
        )
