"""Names of the functions that a library keeps to itself, where it was not stripped of its symbol table."""

from __future__ import annotations

import ctypes
import mmap
import struct
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tzerlike.coverage.native import load_memcov

_SYMBOL_TABLE, _FUNCTION = 2, 2
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_Offsets = npt.NDArray[np.uint64]


_Functions = tuple[_Offsets, npt.NDArray[np.uint32], bytes]
"""Where functions start, ascending, where the name of each begins in a text, and the text."""

_NOTHING: _Functions = (np.zeros(0, np.uint64), np.zeros(0, np.uint32), b"")


def function_at(library: Path, offset: int) -> str:
    """Return the demangled name of the function that starts `offset` bytes into a library, "" where no symbol says."""
    starts, names, text = _functions(library)
    place = int(np.searchsorted(starts, offset))
    if place == len(starts) or int(starts[place]) != offset:
        return ""
    begin = int(names[place])
    name = ctypes.create_string_buffer(4096)
    load_memcov().memcov_demangle(text[begin : text.index(b"\0", begin)], name, len(name))
    return name.value.decode(errors="replace")


@cache
def _functions(library: Path) -> _Functions:
    """The functions in the symbol table of an ELF file for 64 bits; none where it has no table, or is no such file."""
    try:
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
            return _read(image)
    except (OSError, ValueError, struct.error):
        return _NOTHING


def _read(image: mmap.mmap) -> _Functions:
    if image[:5] != b"\x7fELF\x02":
        return _NOTHING
    (headers,) = struct.unpack_from("<Q", image, 0x28)
    size, count = struct.unpack_from("<HH", image, 0x3A)
    # Of a section: its type, where it is in the file, how long, and the section that goes with it.
    sections = [struct.unpack_from("<4xI16xQQI", image, headers + size * index) for index in range(count)]
    for kind, begin, length, link in sections:
        if kind == _SYMBOL_TABLE:
            symbols = np.frombuffer(image[begin : begin + length], _SYMBOL)
            symbols = symbols[((symbols["info"] & 15) == _FUNCTION) & (symbols["section"] != 0)]
            symbols = symbols[np.argsort(symbols["value"], kind="stable")]
            _, text, extent, _ = sections[link]
            return symbols["value"].copy(), symbols["name"].copy(), image[text : text + extent]
    return _NOTHING
