"""Source locations of the edges of an instrumented library, from its debug information."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tzerlike.core.errors import UserError
from tzerlike.coverage.source.places import Places, numbered

_LINE = re.compile(r"(.*):(\d+)(?::\d+)?$")


def symbolised(library: Path, addresses: npt.NDArray[np.uint64], symbolizer: str, filt: str, prefix: str) -> Places:
    """Return the places of `addresses`, as in the file `library`.

    `symbolizer` and `filt` are llvm-symbolizer and llvm-cxxfilt. A function is the one that has the code, a line the
    one that the code is from, be it inlined. `prefix` is what TVM's own files begin with; others are known by their
    full path. UserError when the library has no such information.
    """
    # Twice as fast without demangling: a function has dozens of edges.
    command = [
        symbolizer,
        f"--obj={library}",
        "--functions=linkage",
        "--no-demangle",
        "--no-inlines",
        "--output-style=GNU",
    ]
    with tempfile.TemporaryFile() as asked:
        asked.write("".join(f"{address:#x}\n" for address in addresses.tolist()).encode())
        asked.seek(0)
        done = subprocess.run(command, stdin=asked, capture_output=True, check=False)
    lines = done.stdout.decode(errors="replace").splitlines()
    if done.returncode != 0 or len(lines) != 2 * len(addresses):
        raise UserError(f"{library}: {Path(symbolizer).name} cannot find its source locations")
    mangled, function = numbered([name if name != "??" else "" for name in lines[0::2]])
    where = [_LINE.match(text) for text in lines[1::2]]
    files, file = numbered([_shortened(match[1], prefix) if match else "" for match in where])
    line = np.array([int(match[2]) if match else 0 for match in where], np.int32)
    return Places(files, _demangled(mangled, filt), file, function, line)


def _shortened(path: str, prefix: str) -> str:
    return "" if path == "??" else path.partition(prefix)[2] if path.startswith(prefix) else path


def _demangled(names: tuple[str, ...], filt: str) -> tuple[str, ...]:
    done = subprocess.run([filt], input="\n".join(names).encode(), capture_output=True, check=False)
    plain = done.stdout.decode(errors="replace").splitlines()
    return tuple(plain) if done.returncode == 0 and len(plain) == len(names) else names
