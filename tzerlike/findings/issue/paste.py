"""Scripts as an issue holds them: with what they read from other files inside, for a reader who has the issue alone."""

from __future__ import annotations

import base64
import io
import re
import textwrap
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy

from tzerlike.core.archive import arrays_in

_WIDTH = 100
_READS = {
    "inputs.npz": ('np.load(pathlib.Path(__file__).with_name("inputs.npz"))', "np.load(io.BytesIO({data}))", "io"),
    "case.json": ('pathlib.Path(__file__).with_name("case.json").read_text()', "zlib.decompress({data})", "zlib"),
}
"""How the scripts of bundles read a file, how they do where it is inside of them, and the module that this takes."""


def self_contained(text: str, files: Mapping[str, bytes]) -> str:
    """Return a script with the `files` that it reads inside; "" where it reads one that is not among them."""
    for name, (read, inside, module) in _READS.items():
        if read not in text:
            continue
        if name not in files:
            return ""
        data = zlib.compress(files[name], 9) if module == "zlib" else _read_of(files[name], text)
        lines = textwrap.fill(base64.b64encode(data).decode(), _WIDTH)
        text = text.replace(read, inside.format(data=f'base64.b64decode("""\n{lines}\n""")'))
        text = _importing(_importing(text, module), "base64")
    text = re.sub(r"inputs\.npz(,\s+next\s+to\s+this\s+file,?)?", "ARCHIVE", text) if "ARCHIVE" in text else text
    if "pathlib." not in text:
        text = text.replace("import pathlib\n", "")
    return "" if "__file__" in text else text


def _read_of(archive: bytes, text: str) -> bytes:
    """The archive with no more than the script takes: one that compares nothing has no need of results."""
    if "expected" in text:
        return archive
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {
        name: array for name, array in arrays_in(archive, Path("inputs.npz")).items() if name.startswith("argument")
    }
    numpy.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def _importing(text: str, module: str) -> str:
    """The text with an import in its first run of imports."""
    line = f"import {module}\n"
    run = re.search(r"(?:^import \w+\n)+", text, re.MULTILINE)
    if run is None or line in run[0]:
        return text if run else line + text
    return text[: run.start()] + "".join(sorted([*run[0].splitlines(True), line])) + text[run.end() :]
