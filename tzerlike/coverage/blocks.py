"""The basic blocks of a library: found by memcov, cached for exactly this code."""

from __future__ import annotations

import ctypes
import hashlib
import os
import struct
import zlib
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from tzerlike.core.cache import keep
from tzerlike.core.errors import TzerlikeError, UserError
from tzerlike.coverage.native import load_memcov, u32_p
from tzerlike.coverage.protocol import Indices

_NO_SUCCESSOR: Final = 0xFFFFFFFF
_CACHE_VERSION: Final = 2  # of the file's format and of what memcov_find_blocks finds


def find_chains(library: Path, prefix: str | None) -> tuple[Indices, Indices]:
    """Return the addresses of the basic blocks of `library` as in the file, ascending, without any cache.

    And, for each block, the index of its certain successor or 0xFFFFFFFF.
    """
    lib = load_memcov()
    arrays = u32_p(), u32_p()
    own = None if prefix is None else prefix.encode()
    n = lib.memcov_find_blocks(os.fsencode(library), own, *map(ctypes.byref, arrays))
    if n < 0:
        raise UserError(f"cannot find the code of {library}: {os.strerror(-n)}")
    try:
        if not n:
            return np.zeros(0, np.uint32), np.zeros(0, np.uint32)
        blocks, successors = (np.ctypeslib.as_array(array, shape=(n,)).copy() for array in arrays)
        return blocks, successors
    finally:
        for array in arrays:
            lib.memcov_free(array)


def identity_of(library: Path) -> str:
    """Return what no other file has: the build id and size; a hash of the whole only where there is no build id."""
    with library.open("rb") as file:
        header = file.read(64)
        if len(header) < 64 or header[:6] != b"\x7fELF\x02\x01":
            raise UserError(f"{library} is not a 64-bit ELF file")
        (offset,), (size, count) = struct.unpack_from("<Q", header, 32), struct.unpack_from("<HH", header, 54)
        for i in range(count):
            file.seek(offset + i * size)
            kind, _, at, _, _, length = struct.unpack_from("<IIQQQQ", file.read(size))
            if kind == 4:  # PT_NOTE
                file.seek(at)
                if build_id := _build_id(file.read(length)):
                    return f"{build_id.hex()}-{library.stat().st_size:x}"
        file.seek(0)
        return hashlib.file_digest(file, "sha256").hexdigest()


def _build_id(notes: bytes) -> bytes:
    at = 0
    while at + 12 <= len(notes):
        name, length, kind = struct.unpack_from("<III", notes, at)
        start = at + 12 + (name + 3 & ~3)
        if kind == 3 and notes[at + 12 : at + 12 + name] == b"GNU\0":
            return notes[start : start + length]
        at = start + (length + 3 & ~3)
    return b""


def load_bias(library: Path) -> int:
    """Return the load bias of `library`, given without symbolic links."""
    base = ctypes.c_size_t()
    if load_memcov().memcov_base(os.fsencode(library), ctypes.byref(base)) != 0:
        raise TzerlikeError(f"{library} is not loaded in this process")
    maps = Path("/proc/self/maps").read_text(errors="surrogateescape")
    if f" {library} (deleted)\n" in maps:
        raise UserError(f"{library} was replaced after this process loaded it; start again")
    return base.value


def _first_bytes(base: int, blocks: Indices) -> npt.NDArray[np.uint8]:
    """Return the first byte of each block as it is loaded."""
    low, high = int(blocks[0]), int(blocks[-1]) + 1
    text = np.ctypeslib.as_array((ctypes.c_uint8 * (high - low)).from_address(base + low))
    first: npt.NDArray[np.uint8] = text[blocks - np.uint32(low)]
    return first


def _in_text(base: int, blocks: Indices) -> bool:
    """Whether all blocks lie in one executable mapping, and so may be read."""
    low, high = base + int(blocks[0]), base + int(blocks[-1])
    for line in Path("/proc/self/maps").read_text(errors="surrogateescape").splitlines():
        span, rights = line.split(maxsplit=2)[:2]
        start, end = (int(address, 16) for address in span.split("-"))
        if start <= low < end:
            return high < end and "x" in rights
    return False


def blocks_of(library: Path, identity: str, base: int, cache_dir: Path, prefix: str | None) -> tuple[Indices, Indices]:
    """Return the blocks and successors of a loaded library, from the cache if it holds them for exactly this code."""
    key = hashlib.sha256(f"{_CACHE_VERSION}:{identity}:{prefix}".encode()).hexdigest()[:32]
    path = cache_dir / f"blocks-{key}.bin"
    try:
        return _decode(path.read_bytes(), base)
    except (OSError, ValueError, zlib.error):
        pass  # absent, or from a disk that lied: found anew
    blocks, successors = find_chains(library, prefix)
    if len(blocks):
        keep(path, _encode(blocks, successors, base))
    return blocks, successors


# Magic, blocks, CRC of the addresses, of the successors, and of the first byte of each block.
_HEADER: Final = struct.Struct("<4sIIII")


def _pack(values: Indices) -> bytes:
    """Pack numbers of which nearly all fit a byte; 255 announces four."""
    small = np.minimum(values, 255).astype(np.uint8)
    return b"".join((small.tobytes(), values[small == 255].astype("<u4").tobytes()))


def _unpack(body: bytes, n: int) -> tuple[Indices, bytes]:
    """Undo `_pack` of n numbers; return them and what follows."""
    if len(body) < n:
        raise ValueError("too short")
    values = np.frombuffer(body, np.uint8, n).astype(np.uint32)
    wide = values == 255
    end = n + 4 * int(np.count_nonzero(wide))
    if len(body) < end:
        raise ValueError("too short")
    values[wide] = np.frombuffer(body[n:end], "<u4")
    return values, body[end:]


def _encode(blocks: Indices, successors: Indices, base: int) -> bytes:
    """Pack the blocks as distances, and the successors as 0 (none) or the zigzag of how far ahead they are."""
    deltas = np.diff(blocks, prepend=np.uint32(0)).astype(np.uint32)
    ahead = successors.astype(np.int64) - np.arange(len(blocks))
    # No block is its own successor, so that zigzag leaves 0 free.
    zigzag = np.where(ahead < 0, -2 * ahead - 1, 2 * ahead)
    links = np.where(successors == _NO_SUCCESSOR, 0, zigzag).astype(np.uint32)
    body = zlib.compress(_pack(deltas) + _pack(links), 6)
    checks = (zlib.crc32(array.astype("<u4").tobytes()) for array in (blocks, successors))
    return _HEADER.pack(b"MCB2", len(blocks), *checks, zlib.crc32(_first_bytes(base, blocks).tobytes())) + body


def _decode(data: bytes, base: int) -> tuple[Indices, Indices]:
    """Undo `_encode`; ValueError or zlib.error unless these are blocks of the code at `base`."""
    if len(data) < _HEADER.size:
        raise ValueError("too short")
    magic, n, blocks_crc, successors_crc, bytes_crc = _HEADER.unpack_from(data)
    if magic != b"MCB2" or n == 0:
        raise ValueError("not a block cache")
    deltas, body = _unpack(zlib.decompress(data[_HEADER.size :]), n)
    links, rest = _unpack(body, n)
    if rest:
        raise ValueError("wrong size")
    blocks: Indices = np.cumsum(deltas, dtype=np.uint32)
    successors: Indices = np.full(n, _NO_SUCCESSOR, np.uint32)
    (linked,) = np.nonzero(links)
    zigzag = links[linked].astype(np.int64)
    successors[linked] = linked + np.where(zigzag & 1, -((zigzag + 1) >> 1), zigzag >> 1)
    # A block list of other code would plant breakpoints inside instructions.
    if (
        zlib.crc32(blocks.tobytes()) != blocks_crc
        or zlib.crc32(successors.tobytes()) != successors_crc
        or not _in_text(base, blocks)
        or zlib.crc32(_first_bytes(base, blocks).tobytes()) != bytes_crc
    ):
        raise ValueError("blocks of other code")
    return blocks, successors
