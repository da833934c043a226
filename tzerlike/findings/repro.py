"""What every `repro.py` may have: one file that needs the compiler and numpy alone, if it can."""

from __future__ import annotations

LIMIT = """\
def limit():
    mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, mapped + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
"""
"""The definition of `limit`, which goes by MEMORY in bytes and SECONDS of processor time."""

_REPLAYING = '''\
"""{title}

Exits non-zero when the bug shows; it takes tzerlike to show it.
"""

import pathlib
import subprocess
import sys

bundle = pathlib.Path(__file__).resolve().parent
sys.exit(1 if subprocess.run([sys.executable, "-m", "tzerlike", "replay", bundle]).returncode == 0 else 0)
'''


def replaying(title: str) -> str:
    """Return a script that has tzerlike replay the bundle that it is in, where no other can be made."""
    return _REPLAYING.format(title=quotable(title))


def quotable(text: str) -> str:
    """Return `text` as it may stand in a docstring."""
    return text.replace("\\", "/").replace('"""', "'''")
