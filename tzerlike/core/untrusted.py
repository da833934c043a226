"""Reading files that a stranger may have written: bundles, corpus files.

A file is plain data and runs nothing. Whatever it holds, reading it takes bounded time and memory and ends in a
value of the expected type or in one UserError that names the file and the place. All bounds are stated here.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from tzerlike.core.errors import UserError

FILE_BYTES = 32 << 20
"""A JSON file, or an archive of arrays as it lies on the disk."""

PROGRAM_BYTES = 12 << 20
"""A case as JSON: what still fits the memory through which a case reaches its child."""

SCRIPT_BYTES = 4 << 20
"""A program as TVMScript."""

ARRAY_BYTES = 256 << 20
"""All arrays of an archive together, unpacked."""

ARRAYS = 1024
"""Arrays of an archive."""

JSON_ITEMS = 1 << 20
"""Values in a JSON file, those of all depths together."""

JSON_DEPTH = 128
"""Lists and objects inside each other."""

TEXT = 1 << 20
"""Characters of a text that is not a program."""

_HALF_A_CHARACTER = re.compile(rb"\\u[dD][89a-fA-F]")
_NOT_STRUCTURE = bytes(set(range(256)) - set(b"[]{},"))


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file to read it.

    UserError for everything else: a link, a device and a pipe too, which are not even opened for longer than a look.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        file = open(os.open(path, flags), "rb")  # noqa: SIM115 - the caller closes it
    except FileNotFoundError as error:
        raise UserError(f"{path}: not found") from error
    except OSError as error:
        reason = "a symbolic link, not a file" if error.errno == errno.ELOOP else error.strerror
        raise UserError(f"{path}: {reason}") from error
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise UserError(f"{path}: not a regular file")


def read_bytes(path: Path, limit: int = FILE_BYTES) -> bytes:
    """Return the contents of a regular file of at most `limit` bytes; UserError for everything else."""
    with open_regular(path) as file:
        try:
            data = file.read(limit + 1)
        except OSError as error:
            raise UserError(f"{path}: {error.strerror}") from error
    if len(data) > limit:
        raise UserError(f"{path}: larger than {limit >> 20} MiB")
    return data


def is_directory(path: Path) -> bool:
    """Whether there is a directory at `path` that is no link to one: a bundle does not lead out of itself."""
    return path.is_dir() and not path.is_symlink()


def read_json(path: Path, limit: int = FILE_BYTES) -> Any:
    """Parse a JSON file; UserError in one line when it cannot be read, or is more than the bounds of this module."""
    try:
        return parse_json(read_bytes(path, limit))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not JSON ({str(error)[:80]})") from error


def read_toml(path: Path) -> dict[str, Any]:
    """Parse a TOML file of a person or a campaign; UserError in one line when it cannot be read."""
    try:
        return tomllib.loads(read_bytes(path, _TOML_BYTES).decode())
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not readable ({str(error)[:200]})") from error


_TOML_BYTES = 4 << 20


def parse_json(data: bytes, constant: Callable[[str], float] | None = None) -> Any:
    """Parse JSON whose numbers are finite, whose keys are distinct, and whose texts are Unicode.

    `constant` reads Infinity and NaN, where these may be there. ValueError or RecursionError when it is not that. The
    bounds are checked before anything is built.
    """
    _check_bounds(data)
    value = json.loads(
        data.decode("utf-8"), object_pairs_hook=_distinct, parse_constant=constant or _no_constant, parse_float=_finite
    )
    if _HALF_A_CHARACTER.search(data):
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _check_bounds(data: bytes) -> None:
    # Without escapes, the texts are every other part between quotation marks.
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    if plain.count(b'"') > 2 * JSON_ITEMS:
        raise ValueError(f"more than {JSON_ITEMS} values")
    structure = b"".join(plain.split(b'"')[::2]).translate(None, _NOT_STRUCTURE)
    if len(structure) > JSON_ITEMS:
        raise ValueError(f"more than {JSON_ITEMS} values")
    depth = 0
    for character in structure:
        if character in b"[{":
            depth += 1
            if depth > JSON_DEPTH:
                raise ValueError(f"nested deeper than {JSON_DEPTH}")
        elif character in b"]}":
            depth -= 1


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is out of range")
    return value


def one_line(text: str, longest: int = 1000) -> str:
    """Return `text` fit for one line of a terminal: what would break the line or steer the terminal is escaped."""
    short = text[: longest + 1]
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in short)
    return plain if len(plain) <= longest else f"{plain[:longest]}..."
