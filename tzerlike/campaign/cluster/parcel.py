"""The messages between a mirror and the campaign's own directory: files, and where in them the bytes belong."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Self, TypeVar

import msgspec

from tzerlike.core.errors import UserError
from tzerlike.core.storage import storage_error, write_whole

LARGEST = 32 << 20
"""Bytes in a parcel, beyond which the rest waits for the next one."""

ANOTHER = "another machine has this shard of the campaign now"
"""Why a machine is to give up that was not heard of for a while; what it has found is taken all the same."""

GROWING = "events.jsonl"
"""The file that only grows, of which the new end is sent."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of a file from `offset` on; from 0 on they are the whole file. They travel compressed."""

    offset: int
    packed: bytes

    @classmethod
    def of(cls, data: bytes, offset: int = 0) -> Self:
        return cls(offset, zlib.compress(data, 1))

    @property
    def data(self) -> bytes:
        return zlib.decompress(self.packed)


Heard = tuple[str, int, int]
"""A coordinator, by a name that it has for its life, how many of the cases that it lists, and which merged coverage."""

PiecesByPath = dict[str, Piece]
"""By path below the campaign's directory, with slashes."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """What a machine sends: new pieces of files, and the findings that it wishes to confirm, as (signature, worker).

    A wish that is not repeated lapses. `heard` is how far it has heard of what others have.
    """

    pieces: PiecesByPath = field(default_factory=dict)
    wishes: tuple[tuple[str, str], ...] = ()
    heard: Heard = ("", 0, 0)


@dataclass(frozen=True, slots=True)
class News:
    """What a machine gets back.

    `pieces` are of files from other machines, `broken` the paths of which the campaign needs the whole file, `holders`
    say who has the claim to each signature that was wished for, and `elsewhere` which signatures others have bundled.
    `heard` is to be sent back with the next parcel. With `stop` the
    machine is to save what it has and send it; with `end` it is to give up at once, for that reason.
    """

    pieces: PiecesByPath = field(default_factory=dict)
    broken: tuple[str, ...] = ()
    holders: Mapping[str, str] = field(default_factory=dict)
    elsewhere: tuple[str, ...] = ()
    heard: Heard = ("", 0, 0)
    stop: bool = False
    end: str = ""


@dataclass(frozen=True, slots=True)
class Welcome:
    """What a machine begins with: its number among those that had the part, what the campaign has of it, and the
    campaign's identity."""

    epoch: int
    pieces: PiecesByPath
    campaign: str


_Message = TypeVar("_Message", Parcel, News, Welcome)


def as_bytes(message: Parcel | News | Welcome) -> bytes:
    """Return a message as MessagePack."""
    return msgspec.msgpack.encode(message)


def from_bytes(kind: type[_Message], data: bytes) -> _Message:
    """Read a message; UserError where it is none of this kind."""
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except msgspec.DecodeError as error:
        raise UserError(f"not a message of this tzerlike: {error}") from error


def inside(path: str) -> str:
    """Return a path of a parcel; UserError where it leads out of the campaign's directory."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts:
        raise UserError(f"{path!r}: not a path in a campaign")
    return path


def lay_down(root: Path, path: str, piece: Piece) -> bool:
    """Write a piece below `root`, as often as it comes; False where the file before it is another one.

    StorageError where it cannot be written.
    """
    target = root / inside(path)
    try:
        return _append(target, piece) if piece.offset else _replace(target, piece)
    except OSError as error:
        raise storage_error(target, error) from error


def _replace(target: Path, piece: Piece) -> bool:
    if not target.parent.is_dir():
        target.parent.mkdir(parents=True)
    write_whole(target, piece.data)
    return True


def _append(target: Path, piece: Piece) -> bool:
    size = target.stat().st_size if target.exists() else 0
    data = piece.data
    if size == piece.offset + len(data):
        return True
    if size != piece.offset:
        return False
    with target.open("ab") as file:
        file.write(data)
    return True


def files_below(directory: Path) -> Iterator[Path]:
    """The whole files below a directory; what is still being written is left out, and no link is followed."""
    try:
        with os.scandir(directory) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    yield from files_below(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    yield Path(entry.path)
    except FileNotFoundError:
        return
