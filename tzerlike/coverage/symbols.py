"""Names of the functions that a library keeps to itself, where it was not stripped of its symbol table."""

from __future__ import annotations

import ctypes
import mmap
import struct
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tzerlike.coverage.native import load

_SYMBOL_TABLE, _FUNCTION = 2, 2
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_Offsets = npt.NDArray[np.uint64]


def function_at(library: Path, offset: int) -> str:
    """Return the demangled name of the function that starts `offset` bytes into a library, "" where no symbol says."""
    return _demangled(_Table.of(library).name_at(offset))


class _Table:
    """The functions of an ELF file for 64 bits, by their addresses."""

    def __init__(self, starts: _Offsets, names: npt.NDArray[np.uint32], text: bytes) -> None:
        self._starts = starts
        self._names = names
        self._text = text

    @staticmethod
    @cache
    def of(path: Path) -> _Table:
        """Read the symbol table of a file; an empty one where it has none, or is no such file."""
        nothing = _Table(np.zeros(0, np.uint64), np.zeros(0, np.uint32), b"")
        try:
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
                return _read(image) or nothing
        except (OSError, ValueError, struct.error):
            return nothing

    def name_at(self, offset: int) -> bytes:
        place = int(np.searchsorted(self._starts, offset))
        if place == len(self._starts) or int(self._starts[place]) != offset:
            return b""
        begin = int(self._names[place])
        return self._text[begin : self._text.index(b"\0", begin)]


def _read(image: mmap.mmap) -> _Table | None:
    if image[:5] != b"\x7fELF\x02":
        return None
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
            return _Table(symbols["value"].copy(), symbols["name"].copy(), image[text : text + extent])
    return None


def _demangled(symbol: bytes) -> str:
    name = ctypes.create_string_buffer(4096)
    load().memcov_demangle(symbol, name, len(name))
    return name.value.decode(errors="replace")
