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
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tzerlike.errors import UserError

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

LEAST, GREATEST = -(1 << 63), (1 << 63) - 1
"""Integers unless a field says otherwise."""

_HALF_A_CHARACTER = re.compile(rb"\\u[dD][89a-fA-F]")
_NOT_STRUCTURE = bytes(set(range(256)) - set(b"[]{},"))


def read_bytes(path: Path, limit: int = FILE_BYTES) -> bytes:
    """Return the contents of a regular file of at most `limit` bytes.

    UserError for everything else: a link, a device and a pipe too, which are not even opened for longer than a look.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        with open(os.open(path, flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UserError(f"{path}: not a regular file")
            data = file.read(limit + 1)
    except FileNotFoundError as error:
        raise UserError(f"{path}: not found") from error
    except OSError as error:
        reason = "a symbolic link, not a file" if error.errno == errno.ELOOP else error.strerror
        raise UserError(f"{path}: {reason}") from error
    if len(data) > limit:
        raise UserError(f"{path}: larger than {limit >> 20} MiB")
    return data


def read_json(path: Path, limit: int = FILE_BYTES) -> Any:
    """Parse a JSON file; UserError in one line when it cannot be read, or is more than the bounds of this module."""
    try:
        return parse_json(read_bytes(path, limit))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not JSON ({str(error)[:80]})") from error


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


@dataclass(frozen=True, slots=True)
class Fields:
    """An object of parsed JSON and its place in the file.

    Each method returns the value of a key. UserError names the place of one that is missing, or of the wrong type or
    size; a bool is no number here.
    """

    data: Mapping[str, Any]
    where: str

    @classmethod
    def of(cls, value: object, where: str) -> Fields:
        """UserError unless `value` is an object."""
        if not isinstance(value, dict):
            raise UserError(f"{where}: expected dict, found {_kind(value)}")
        return cls(value, where)

    def text(self, key: str, longest: int = TEXT) -> str:
        return checked_text(self._get(key), self._place(key), longest)

    def optional_text(self, key: str) -> str | None:
        """None where the key is missing or null."""
        return None if self.data.get(key) is None else self.text(key)

    def whole(self, key: str, least: int = LEAST, greatest: int = GREATEST) -> int:
        return checked_whole(self._get(key), self._place(key), least, greatest)

    def number(self, key: str, least: float = -math.inf, greatest: float = math.inf) -> float:
        return checked_number(self._get(key), self._place(key), least, greatest)

    def choice(self, key: str, allowed: Collection[str]) -> str:
        value = self.text(key)
        if value not in allowed:
            raise UserError(f"{self._place(key)}: {value[:40]!r} is none of {', '.join(allowed)}")
        return value

    def flag(self, key: str) -> bool:
        value = self._get(key)
        if not isinstance(value, bool):
            raise UserError(f"{self._place(key)}: expected true or false, found {_kind(value)}")
        return value

    def inner(self, key: str) -> Fields:
        return Fields.of(self._get(key), self._place(key))

    def optional(self, key: str) -> Fields | None:
        """None where the key is missing or null."""
        return None if self.data.get(key) is None else self.inner(key)

    def items(self, key: str, most: int = JSON_ITEMS) -> list[tuple[str, Any]]:
        """The elements of a list, each with its place."""
        value = self._get(key)
        place = self._place(key)
        if not isinstance(value, list):
            raise UserError(f"{place}: expected list, found {_kind(value)}")
        if len(value) > most:
            raise UserError(f"{place}: {len(value)} elements, more than {most}")
        return [(f"{place}[{index}]", item) for index, item in enumerate(value)]

    def texts(self, key: str, longest: int = TEXT) -> tuple[str, ...]:
        return tuple(checked_text(item, place, longest) for place, item in self.items(key))

    def wholes(self, key: str, least: int = LEAST, greatest: int = GREATEST) -> tuple[int, ...]:
        return tuple(checked_whole(item, place, least, greatest) for place, item in self.items(key))

    def numbers(self, key: str) -> tuple[float, ...]:
        return tuple(checked_number(item, place) for place, item in self.items(key))

    def _place(self, key: str) -> str:
        return f"{self.where}.{key}"

    def _get(self, key: str) -> Any:
        if key not in self.data:
            raise UserError(f"{self._place(key)}: missing")
        return self.data[key]


def checked_text(value: object, place: str, longest: int = TEXT) -> str:
    """Return a text of at most `longest` characters; UserError that names the place otherwise."""
    if not isinstance(value, str):
        raise UserError(f"{place}: expected str, found {_kind(value)}")
    if len(value) > longest:
        raise UserError(f"{place}: {len(value)} characters, more than {longest}")
    return value


def checked_whole(value: object, place: str, least: int = LEAST, greatest: int = GREATEST) -> int:
    """Return an integer between two others; UserError that names the place otherwise."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise UserError(f"{place}: expected int, found {_kind(value)}")
    if not least <= value <= greatest:
        raise UserError(f"{place}: out of range")
    return value


def checked_number(value: object, place: str, least: float = -math.inf, greatest: float = math.inf) -> float:
    """Return a float between two others; UserError that names the place otherwise."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = float(checked_whole(value, place))
    if not isinstance(value, float):
        raise UserError(f"{place}: expected a number, found {_kind(value)}")
    if not least <= value <= greatest:
        raise UserError(f"{place}: out of range")
    return value


def pair_of_texts(value: object, place: str) -> tuple[str, str]:
    """Return a list of two texts; UserError that names the place otherwise."""
    if not isinstance(value, list) or len(value) != 2:
        raise UserError(f"{place}: expected two texts")
    return checked_text(value[0], place), checked_text(value[1], place)


def _kind(value: object) -> str:
    return "null" if value is None else type(value).__name__


def one_line(text: str, longest: int = 1000) -> str:
    """Return `text` fit for one line of a terminal: what would break the line or steer the terminal is escaped."""
    short = text[: longest + 1]
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in short)
    return plain if len(plain) <= longest else f"{plain[:longest]}..."
