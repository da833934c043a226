"""Common parts of every `repro.py`: one file that needs only the compiler and numpy, if possible."""

from __future__ import annotations

import re

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

Needs tzerlike. Exits 1 if the bug shows, 0 if it does not, and with another status if that cannot be told.
"""

import importlib.util
import pathlib
import subprocess
import sys

if importlib.util.find_spec("tzerlike") is None:
    print("there is no tzerlike here")
    sys.exit(2)
bundle = pathlib.Path(__file__).resolve().parent
status = subprocess.run([sys.executable, "-m", "tzerlike", "replay", bundle]).returncode
sys.exit({{0: 1, 1: 0}}.get(status, status))
'''

ALWAYS_ZERO = "so this always exits 0"
"""What a script says of itself that cannot show the bug on any machine."""

TIMES_BUILDS = "Times the build without the pass"
"""What a script says of itself that shows how slow code is."""


def replaying(title: str) -> str:
    """Return a script that has tzerlike replay the bundle that it is in, where no other can be made."""
    return _REPLAYING.format(title=quotable(title))


def manner_of(repro: str) -> str:
    """Return in a few words what the text of a repro.py takes, and how it ends."""
    needs = "it needs tzerlike" if '"tzerlike"' in repro else f"it needs {needed_by(repro)}"
    if ALWAYS_ZERO in repro:
        return f"({needs}); it prints the lowered kernel and always exits 0, because the bug only shows on a GPU"
    times = "prints the times of both builds and " if TIMES_BUILDS in repro else ""
    return f"({needs}); it {times}exits non-zero if the bug is present"


def needed_by(script: str) -> str:
    """Return in words which packages a script of a bundle takes."""
    found = re.search(r"^(?:from|import) (onnx|torch)\b", script, re.MULTILINE)
    return f"only tvm, {found[1]} and numpy" if found else "only tvm and numpy"


def without_idle_imports(script: str) -> str:
    """Return a script without the imports, at its top level, of names that it does not use."""
    rest = _IMPORT.sub("", script)

    def used(match: re.Match[str]) -> str:
        names = [one for one in match[2].split(", ") if re.search(rf"\b{one.rpartition(' ')[2]}\b", rest)]
        return f"{match[1]}{', '.join(names)}\n" if names else ""

    return _IMPORT.sub(used, script)


_IMPORT = re.compile(r"^((?:from (?!__future__)[\w.]+ )?import )([\w, ]+)\n", re.MULTILINE)


def quotable(text: str) -> str:
    """Return `text` as it may stand in a docstring."""
    return text.replace("\\", "/").replace('"""', "'''")
