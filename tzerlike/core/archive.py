"""Reading an archive of arrays (`inputs.npz`) that a stranger may have written, and the empty one.

NumPy's own reader is right about trusted files. This one takes only what `numpy.savez` writes for plain arrays: no
objects, no structures, a header in NumPy's own words, sizes known before anything is unpacked.
"""

from __future__ import annotations

import io
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from tzerlike.core.errors import UserError
from tzerlike.core.untrusted import ARRAY_BYTES, ARRAYS, read_bytes

_MEMBER = re.compile(r"[a-z]{1,16}[0-9]{0,4}\.npy")
# Each text matches in one way at most: what a stranger wrote is not to be tried in all ways.
_HEADER = re.compile(
    r"\{'descr': '(?P<kind>\|b1|\|[iu]1|<[iuf][248]|<U[0-9]{1,3})', 'fortran_order': (?P<fortran>True|False), "
    r"'shape': \((?P<shape>(?:[0-9]{1,12}(?:, [0-9]{1,12}){0,31},?)?)\), \} *\n"
)
_MAGIC = b"\x93NUMPY\x01\x00"


def read_arrays(path: Path) -> Mapping[str, NDArray[Any]]:
    """Return the arrays of an archive by name: booleans, integers, floats, and short texts of dimension 0.

    UserError when it is not such an archive, or larger than the bounds of tzerlike.core.untrusted.
    """
    return arrays_in(read_bytes(path), path)


def arrays_in(data: bytes, path: Path) -> Mapping[str, NDArray[Any]]:
    """The same of what is in the file, or is to be."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _arrays(archive)
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        OSError,
        ValueError,
        IndexError,
        OverflowError,
        NotImplementedError,  # zipfile: a compression that it does not know
        RuntimeError,
    ) as error:
        raise UserError(f"{path}: not an archive of arrays ({str(error)[:80]})") from error


def _arrays(archive: zipfile.ZipFile) -> dict[str, NDArray[Any]]:
    members = archive.infolist()
    if len(members) > ARRAYS:
        raise ValueError(f"more than {ARRAYS} members")
    names = [member.filename for member in members]
    if len(set(names)) != len(names):
        raise ValueError("a member is there twice")
    if sum(member.file_size for member in members) > ARRAY_BYTES:
        raise ValueError(f"more than {ARRAY_BYTES >> 20} MiB when unpacked")
    arrays = {}
    for member in members:
        if not _MEMBER.fullmatch(member.filename):
            raise ValueError(f"a member named {member.filename[:40]!r}")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
            raise ValueError(f"{member.filename} is neither stored nor deflated")
        # The reader stops at the size that the directory states, whatever lies there.
        with archive.open(member) as file:
            content = file.read(member.file_size + 1)
        if len(content) != member.file_size:
            raise ValueError(f"{member.filename} is not as long as it says")
        arrays[member.filename.removesuffix(".npy")] = _array(content, member.filename)
    return arrays


def _array(content: bytes, name: str) -> NDArray[Any]:
    if content[:8] != _MAGIC or len(content) < 10:
        raise ValueError(f"{name} is not an array")
    (length,) = struct.unpack_from("<H", content, 8)
    header = _HEADER.fullmatch(content[10 : 10 + length].decode("latin-1"))
    if header is None:
        raise ValueError(f"{name} is not a plain array")
    kind: numpy.dtype[Any] = numpy.dtype(header["kind"])
    shape = tuple(int(extent) for extent in header["shape"].replace(",", " ").split())
    if kind.kind == "U" and shape:
        raise ValueError(f"{name} is a list of texts")
    body = memoryview(content)[10 + length :]
    if math.prod(shape) * kind.itemsize != len(body):
        raise ValueError(f"{name} does not have the size of its shape")
    flat = numpy.frombuffer(body, kind)
    return flat.reshape(shape, order="F" if header["fortran"] == "True" else "C")


def no_arrays() -> bytes:
    """Return the archive of what ran on no inputs."""
    buffer = io.BytesIO()
    numpy.savez(buffer)
    return buffer.getvalue()
