"""coverage.bits: the covered blocks, what they are blocks of, and a checksum.

A line that names the format, a line of JSON (`Identity` with the checksum of the bits), and the bits, eight a byte, the
lowest first. Files of before had the bits alone.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from tzerlike.core.errors import UserError
from tzerlike.core.schema import Count, Schema, Text
from tzerlike.core.untrusted import parse_json, read_bytes

_MAGIC = b"tzerlike coverage\n"
_MOST_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Identity:
    """What is counted: the blocks of one backend in one build of a library."""

    backend: str
    library: str
    blocks: int

    def __str__(self) -> str:
        return f"{self.blocks} blocks ({self.backend}) of library {self.library or 'unknown'}"


class _Header(msgspec.Struct):
    backend: Text
    library: Text
    blocks: Count
    sha256: Text


_HEADER = Schema(_Header, "header")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The counted blocks of what `identity` says; None in a file of before, which did not say it."""

    identity: Identity | None
    bits: bytes

    def bits_of(self, identity: Identity, path: Path) -> bytes:
        """Return the bits; UserError where they are not of `identity`."""
        if self.identity is not None and self.identity != identity:
            raise UserError(f"{path}: it counts {self.identity}, but here are {identity}")
        if len(self.bits) != _size(identity.blocks):
            raise UserError(f"{path}: {len(self.bits)} bytes do not fit {identity}")
        return self.bits


def snapshot_bytes(identity: Identity, bits: bytes) -> bytes:
    """Return the contents of a coverage.bits."""
    header = _HEADER.stamped({**asdict(identity), "sha256": hashlib.sha256(bits).hexdigest()})
    return _MAGIC + json.dumps(header).encode() + b"\n" + bits


def read_snapshot(path: Path) -> Snapshot:
    """Read a coverage.bits; UserError in one line where it is damaged, WrongVersion where it is of another version."""
    try:
        return parse_snapshot(read_bytes(path, _MOST_BYTES))
    except UserError as error:
        raise type(error)(f"{path}: {error}") from error


def parse_snapshot(data: bytes) -> Snapshot:
    """Read the contents of a coverage.bits; UserError and WrongVersion as `read_snapshot`."""
    if not data.startswith(_MAGIC):
        return Snapshot(None, data)
    line, _, bits = data[len(_MAGIC) :].partition(b"\n")
    try:
        header = _HEADER.of(parse_json(line))
    except (ValueError, RecursionError) as error:
        raise UserError("damaged (no header)") from error
    identity = Identity(header.backend, header.library, header.blocks)
    if len(bits) != _size(identity.blocks) or hashlib.sha256(bits).hexdigest() != header.sha256:
        raise UserError("damaged (wrong checksum)")
    return Snapshot(identity, bits)


def _size(blocks: int) -> int:
    return (blocks + 7) // 8
