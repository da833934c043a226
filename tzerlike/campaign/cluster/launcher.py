"""A machine's shard of a campaign, in a separate process that ends when its standard input is closed.

Ray's processes may lose the thread that forked something; the zygote would end with it. So it is this process that
owns the zygote: `python -m tzerlike.campaign.cluster.launcher DIRECTORY 2/4`.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time

_PATIENCE = 30.0


def main(directory: str, part: str) -> None:
    threading.Thread(target=_end_with_input, daemon=True).start()
    sys.argv = ["tzerlike", "fuzz", "--resume", "--out", directory, "--shard", part, "--ui", "plain"]
    runpy.run_module("tzerlike", run_name="__main__", alter_sys=True)


def _end_with_input() -> None:
    while os.read(0, 1 << 10):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_PATIENCE)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
