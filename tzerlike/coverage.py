"""Coverage of the compiler under test, and the place where a child died: ctypes over memcov.

The worker and the library stay as they are; a forked child that calls `enter` runs text with a one-shot
breakpoint at each basic block that nobody has reached yet. What it reaches lies in shared memory, so the
worker reads it after any death. memcov/memcov.h is the contract of the C side.

This module knows nothing of TVM: the library to observe is a path, already loaded by whoever cares.
"""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import os
import platform
import struct
import sys
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from tzerlike.errors import TzerlikeError, UserError

Indices = npt.NDArray[np.uint32]

MEMCOV: Final = Path(__file__).parent / "_memcov" / "libmemcov.so"
OWN_PREFIX: Final = "/project/"
"""Where the wheels of TVM are built: the source paths in their own code begin with it, those of LLVM do not."""

_ABI: Final = 2
_FRAMES: Final = 64
_NO_SUCCESSOR: Final = 0xFFFFFFFF
_CACHE_VERSION: Final = 2  # of the file's format and of what memcov_find_blocks finds


class Coverage(Protocol):
    """One library's coverage, shared by a process and all that it forks.

    A slot is the log of one worker: the blocks that its children reached first. A block is logged once, by
    whoever reaches it first, until it is armed again. Slots are numbered from 0.
    """

    backend: str
    """`breakpoint` or `none`."""
    total: int
    """The number of blocks that exist."""

    def covered(self) -> int:
        """Return the number of blocks counted so far, by all workers."""

    def enter(self, slot: int) -> None:
        """In a forked child: record from here on, into `slot`. There is no way back."""

    def begin(self, slot: int) -> None:
        """Forget the log of `slot`, counted or not."""

    def new(self, slot: int) -> int:
        """Return the length of the log; the child itself may ask as well."""

    def new_indices(self, slot: int) -> Indices:
        """Return a copy of the log: block indices in the order of discovery."""

    def commit(self, slot: int, start: int = 0) -> int:
        """Count the log from position `start` on; return how many blocks were new to `covered()`."""

    def rearm(self, slot: int, start: int = 0) -> None:
        """Make the blocks of the log from `start` on discoverable again, and cut the log there."""

    def reset(self) -> None:
        """Forget everything: as if just opened."""

    def snapshot(self) -> bytes:
        """Return the set of counted blocks, eight a byte, the lowest bit first."""

    def restore(self, bits: bytes) -> None:
        """Add the blocks of a snapshot to those counted; ValueError when it is of another library."""


class NoCoverage:
    """A blind run: nothing is recorded, and the caller decides what that means."""

    backend = "none"
    total = 0

    def covered(self) -> int:
        return 0

    def enter(self, slot: int) -> None:
        pass

    def begin(self, slot: int) -> None:
        pass

    def new(self, slot: int) -> int:
        return 0

    def new_indices(self, slot: int) -> Indices:
        return np.zeros(0, np.uint32)

    def commit(self, slot: int, start: int = 0) -> int:
        return 0

    def rearm(self, slot: int, start: int = 0) -> None:
        pass

    def reset(self) -> None:
        pass

    def snapshot(self) -> bytes:
        return b""

    def restore(self, bits: bytes) -> None:
        if bits:
            raise ValueError("a snapshot with blocks, but this run has no coverage")


class BreakpointCoverage:
    """Coverage of a loaded library by one-shot breakpoints; see `Coverage` for the methods.

    `base` is the library's load bias, `blocks` its basic blocks as ascending file addresses (uint32), and
    `successors` for each the index of the block that is certain to run next, or 0xFFFFFFFF; these spare traps and
    change nothing else. Lives as long as the process: children may be running the text that it owns.
    """

    backend = "breakpoint"

    def __init__(self, base: int, blocks: Indices, slots: int, successors: Indices | None = None) -> None:
        if successors is not None and len(successors) != len(blocks):
            raise ValueError("not one successor a block")
        self.total = len(blocks)
        self._lib = _load()
        blocks = np.ascontiguousarray(blocks, np.uint32)
        chains = None if successors is None else np.ascontiguousarray(successors, np.uint32)
        chains_p = None if chains is None else chains.ctypes.data_as(_u32_p)
        self._cov = self._lib.memcov_create(base, blocks.ctypes.data_as(_u32_p), chains_p, len(blocks), slots)
        if not self._cov:
            raise TzerlikeError(f"cannot prepare breakpoint coverage: {os.strerror(ctypes.get_errno())}")
        counted = self._lib.memcov_counted(self._cov)
        self._counted = np.ctypeslib.as_array(counted, shape=(self.total,))

    def covered(self) -> int:
        return int(self._lib.memcov_total(self._cov))

    def enter(self, slot: int) -> None:
        _check(self._lib.memcov_enter(self._cov, slot))

    def begin(self, slot: int) -> None:
        _check(self._lib.memcov_begin(self._cov, slot))

    def new(self, slot: int) -> int:
        return _check(self._lib.memcov_new(self._cov, slot, None))

    def new_indices(self, slot: int) -> Indices:
        indices = _u32_p()
        n = _check(self._lib.memcov_new(self._cov, slot, ctypes.byref(indices)))
        return np.ctypeslib.as_array(indices, shape=(n,)).copy() if n else np.zeros(0, np.uint32)

    def commit(self, slot: int, start: int = 0) -> int:
        return _check(self._lib.memcov_commit(self._cov, slot, start))

    def rearm(self, slot: int, start: int = 0) -> None:
        _check(self._lib.memcov_rearm(self._cov, slot, start))

    def reset(self) -> None:
        _check(self._lib.memcov_reset(self._cov))

    def snapshot(self) -> bytes:
        return np.packbits(self._counted, bitorder="little").tobytes()

    def restore(self, bits: bytes) -> None:
        if len(bits) != (self.total + 7) // 8:
            raise ValueError(f"a snapshot of {len(bits)} bytes does not fit {self.total} blocks")
        flags = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")[: self.total]
        indices = np.flatnonzero(flags).astype(np.uint32)
        _check(self._lib.memcov_restore(self._cov, indices.ctypes.data_as(_u32_p), len(indices)))


def open_coverage(kind: str, library: Path, slots: int, cache_dir: Path, prefix: str | None = OWN_PREFIX) -> Coverage:
    """Return coverage of kind `breakpoint` or `none` of the already loaded `library`, with `slots` logs.

    Looking for the blocks takes seconds the first time; they are kept in `cache_dir`. `prefix` marks the source
    paths of the library's own code (None: all of its code counts). UserError when it cannot be done here.
    """
    if kind == "none":
        return NoCoverage()
    if kind != "breakpoint":
        raise UserError(f"no such coverage: {kind} (there are breakpoint and none)")
    _load()
    library = Path(os.path.realpath(library))
    base = _base_of(library)
    try:
        identity = _identity(library)
    except OSError as error:
        raise UserError(f"cannot read {library}: {error.strerror}") from error
    blocks, successors = _blocks_of(library, identity, base, cache_dir, prefix)
    if not len(blocks):
        raise UserError(f"{library} has no code of its own that coverage could follow; use --coverage none")
    return BreakpointCoverage(base, blocks, slots, successors)


def prepare_coverage(kind: str, library: Path, cache_dir: Path, prefix: str | None = OWN_PREFIX) -> None:
    """See to it, in a forked child, that `open_coverage` finds the blocks of a loaded library in `cache_dir`.

    Looking for blocks leaves its traces in a process's heap, and hash-ordered code of the library behaves by addresses:
    a process that had to look would not repeat what one that did not have to has done.
    """
    if kind != "breakpoint":
        return
    child = os.fork()
    if child == 0:
        try:
            open_coverage(kind, library, 1, cache_dir, prefix)
        finally:
            # What went wrong here goes wrong again, and is reported, where coverage is opened.
            os._exit(0)
    os.waitpid(child, 0)


# --- where a child died ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Death:
    """The death of a process by a signal.

    `code` is si_code, `address` si_addr, `stack` the stack pointer; `frames` holds up to 64 addresses, innermost
    first: the faulting instruction, then return addresses. `depth` counts all frames, None when unknown: more
    than 100000, or a stack that could not be followed to its end.
    """

    signal: int
    code: int
    address: int
    stack: int
    depth: int | None
    frames: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """A function: `name` is empty where no symbol names it; `library` is a file name without its directory.

    `offset` is the function's start in the library, the same in every process that loads the same file.
    """

    name: str
    library: str
    offset: int


class _CDeath(ctypes.Structure):
    _fields_ = (
        ("signal", ctypes.c_int32),
        ("code", ctypes.c_int32),
        ("address", ctypes.c_uint64),
        ("stack", ctypes.c_uint64),
        ("n", ctypes.c_uint32),
        ("depth", ctypes.c_uint32),
        ("frames", ctypes.c_uint64 * _FRAMES),
    )


class DeathRecord:
    """Shared memory in which a child leaves its death; make one before forking, use it for child after child."""

    def __init__(self) -> None:
        self._lib = _load()
        self._memory = mmap.mmap(-1, ctypes.sizeof(_CDeath))  # shared, anonymous
        self._death = _CDeath.from_buffer(self._memory)

    def watch(self) -> None:
        """In a forked child: from here on a fatal signal is recorded before it kills. Clears the record."""
        _check(self._lib.memcov_watch_death(ctypes.byref(self._death)))

    def clear(self) -> None:
        """Forget the last death."""
        ctypes.memset(ctypes.byref(self._death), 0, ctypes.sizeof(_CDeath))

    def read(self) -> Death | None:
        """Return the death that the last child recorded, or None."""
        c = self._death
        if c.signal == 0:
            return None
        return Death(
            signal=c.signal,
            code=c.code,
            address=c.address,
            stack=c.stack,
            depth=None if c.depth == 0xFFFFFFFF else c.depth,
            frames=tuple(c.frames[: min(c.n, _FRAMES)]),
        )


def describe(address: int) -> Frame | None:
    """Return the function that holds the code at `address` in this process, None where no library does.

    Addresses agree between a process and what it forked. For a return address pass the byte before it, or the
    next function may answer; `describe_death` does.
    """
    name, library = ctypes.create_string_buffer(4096), ctypes.create_string_buffer(256)
    offset = ctypes.c_uint64()
    if _load().memcov_describe(address, name, len(name), library, len(library), ctypes.byref(offset)) != 0:
        return None
    return Frame(name.value.decode(errors="replace"), library.value.decode(errors="replace"), offset.value)


def describe_death(death: Death) -> tuple[Frame | None, ...]:
    """Return the functions of the frames of `death`, innermost first."""
    return tuple(describe(pc if i == 0 else pc - 1) for i, pc in enumerate(death.frames))


# --- the library and its blocks ----------------------------------------------------------------------------

_u32_p = ctypes.POINTER(ctypes.c_uint32)
_loaded: ctypes.CDLL | None = None


def _load() -> ctypes.CDLL:
    """Return libmemcov, loaded once and with its types declared; UserError where it cannot be."""
    global _loaded
    if _loaded is not None:
        return _loaded
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "AMD64"):
        raise UserError(f"coverage needs x86-64 Linux, this is {platform.machine()} {sys.platform}")
    if not MEMCOV.exists():
        raise UserError(f"{MEMCOV.name} has not been built: run `make setup`")
    lib = ctypes.CDLL(str(MEMCOV), use_errno=True)
    if (found := lib.memcov_abi()) != _ABI:
        raise UserError(f"{MEMCOV.name} has ABI {found} where {_ABI} is needed: run `make setup`")
    u8_p = ctypes.POINTER(ctypes.c_uint8)
    size, unsigned, i64, void = ctypes.c_size_t, ctypes.c_uint, ctypes.c_int64, ctypes.c_void_p
    signatures: dict[str, tuple[object, tuple[object, ...]]] = {
        "memcov_find_blocks": (i64, (ctypes.c_char_p, ctypes.c_char_p, *(ctypes.POINTER(_u32_p),) * 2)),
        "memcov_base": (ctypes.c_int, (ctypes.c_char_p, ctypes.POINTER(size))),
        "memcov_free": (None, (void,)),
        "memcov_create": (void, (void, _u32_p, _u32_p, size, unsigned)),
        "memcov_restore": (ctypes.c_int, (void, _u32_p, size)),
        "memcov_enter": (ctypes.c_int, (void, unsigned)),
        "memcov_begin": (ctypes.c_int, (void, unsigned)),
        "memcov_new": (i64, (void, unsigned, ctypes.POINTER(_u32_p))),
        "memcov_commit": (i64, (void, unsigned, size)),
        "memcov_rearm": (ctypes.c_int, (void, unsigned, size)),
        "memcov_reset": (ctypes.c_int, (void,)),
        "memcov_total": (i64, (void,)),
        "memcov_counted": (u8_p, (void,)),
        "memcov_watch_death": (ctypes.c_int, (ctypes.POINTER(_CDeath),)),
        "memcov_describe": (
            ctypes.c_int,
            (void, ctypes.c_char_p, size, ctypes.c_char_p, size, ctypes.POINTER(ctypes.c_uint64)),
        ),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    _loaded = lib
    return lib


def _check(result: int) -> int:
    if result < 0:
        raise TzerlikeError(f"memcov: {os.strerror(-result)}")
    return int(result)


def find_blocks(library: Path, prefix: str | None) -> Indices:
    """Return the addresses of the basic blocks of `library` as in the file, ascending, without any cache."""
    return find_chains(library, prefix)[0]


def find_chains(library: Path, prefix: str | None) -> tuple[Indices, Indices]:
    """Return what `find_blocks` does and, for each block, the index of its certain successor or 0xFFFFFFFF."""
    lib = _load()
    arrays = _u32_p(), _u32_p()
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


def _identity(library: Path) -> str:
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


def _base_of(library: Path) -> int:
    """Return the load bias of `library`, given without symbolic links."""
    base = ctypes.c_size_t()
    if _load().memcov_base(os.fsencode(library), ctypes.byref(base)) != 0:
        raise TzerlikeError(f"{library} is not loaded in this process")
    maps = Path("/proc/self/maps").read_text(errors="surrogateescape")
    if f" {library} (deleted)\n" in maps:
        raise UserError(f"{library} was replaced after this process loaded it: start again")
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


def _blocks_of(library: Path, identity: str, base: int, cache_dir: Path, prefix: str | None) -> tuple[Indices, Indices]:
    """Return the blocks and successors of a loaded library, from the cache if it holds them for exactly this code."""
    key = hashlib.sha256(f"{_CACHE_VERSION}:{identity}:{prefix}".encode()).hexdigest()[:32]
    path = cache_dir / f"blocks-{key}.bin"
    try:
        return _decode(path.read_bytes(), base)
    except (OSError, ValueError, zlib.error):
        pass  # absent, or from a disk that lied: found anew
    blocks, successors = find_chains(library, prefix)
    if len(blocks):
        _write(path, _encode(blocks, successors, base))
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


def _write(path: Path, data: bytes) -> None:
    """Write a file that is whole or absent; a cache that cannot be written is done without."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".blocks-", delete=False) as file:
            file.write(data)
        Path(file.name).replace(path)
    except OSError:
        pass
