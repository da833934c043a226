"""Names of the functions of a library; local functions have names only if the library was not stripped."""

from __future__ import annotations

import ctypes
import mmap
import struct
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tzerlike.coverage.native import load_memcov
from tzerlike.coverage.sections import sections_of

_SYMBOL_TABLE, _EXPORTS, _FUNCTION = 2, 11, 2
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_Offsets = npt.NDArray[np.uint64]


_Functions = tuple[_Offsets, npt.NDArray[np.uint32], bytes]
"""Where functions start, ascending, where the name of each begins in a text, and the text."""

_NOTHING: _Functions = (np.zeros(0, np.uint64), np.zeros(0, np.uint32), b"")


def function_at(library: Path, offset: int) -> str:
    """Return the demangled name of the function that starts `offset` bytes into a library, "" where its symbol table
    does not say."""
    return _named(library, offset, _SYMBOL_TABLE)


def exported_at(library: Path, offset: int) -> str:
    """Return the same for what the library offers to others."""
    return _named(library, offset, _EXPORTS)


def _named(library: Path, offset: int, table: int) -> str:
    starts, names, text = _functions(library, table)
    place = int(np.searchsorted(starts, offset))
    if place == len(starts) or int(starts[place]) != offset:
        return ""
    begin = int(names[place])
    name = ctypes.create_string_buffer(4096)
    load_memcov().memcov_demangle(text[begin : text.index(b"\0", begin)], name, len(name))
    return name.value.decode(errors="replace")


@cache
def _functions(library: Path, table: int) -> _Functions:
    """The functions in a symbol table of an ELF file for 64 bits; none where it has no table, or is no such file."""
    try:
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
            return _read(image, table)
    except (OSError, ValueError, struct.error):
        return _NOTHING


def _read(image: mmap.mmap, table: int) -> _Functions:
    sections = sections_of(image)
    for section in sections:
        if section.kind == table:
            symbols = np.frombuffer(image[section.begin : section.begin + section.length], _SYMBOL)
            symbols = symbols[((symbols["info"] & 15) == _FUNCTION) & (symbols["section"] != 0)]
            symbols = symbols[np.argsort(symbols["value"], kind="stable")]
            names = sections[section.link]
            text = image[names.begin : names.begin + names.length]
            return symbols["value"].copy(), symbols["name"].copy(), text
    return _NOTHING
