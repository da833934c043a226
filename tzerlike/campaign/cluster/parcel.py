"""What a mirror and the campaign's own directory send each other: files, and where in them the bytes belong."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tzerlike.core.errors import UserError
from tzerlike.core.storage import write_atomic

LARGEST = 32 << 20
"""Bytes in a parcel, beyond which the rest waits for the next one."""

GROWING = "events.jsonl"
"""The file that only grows, of which the new end is sent."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of a file from `offset` on; from 0 on they are the whole file."""

    offset: int
    data: bytes


Pieces = dict[str, Piece]
"""By path below the campaign's directory, with slashes."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """What a machine sends: new pieces of files, and the findings that it wishes to confirm, as (signature, worker).

    `done` are such claims that it gives back.
    """

    pieces: Pieces = field(default_factory=dict)
    wishes: tuple[tuple[str, str], ...] = ()
    done: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a machine gets back.

    `pieces` are of files from other machines, `broken` the paths of which the campaign needs the whole file, `holders`
    say who has the claim to each signature that was wished for, and `elsewhere` which signatures others have bundled.
    `end` is why the machine is to stop, "" where it is not.
    """

    pieces: Pieces = field(default_factory=dict)
    broken: tuple[str, ...] = ()
    holders: Mapping[str, str] = field(default_factory=dict)
    elsewhere: tuple[str, ...] = ()
    end: str = ""


def checked(path: str) -> str:
    """Return a path of a parcel; UserError where it leads out of the campaign's directory."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts:
        raise UserError(f"{path!r}: not a path in a campaign")
    return path


def lay_down(root: Path, path: str, piece: Piece) -> bool:
    """Write a piece below `root`, as often as it comes; False where the file before it is another one."""
    target = root / checked(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if not piece.offset:
        write_atomic(target, piece.data)
        return True
    size = target.stat().st_size if target.exists() else 0
    if size == piece.offset + len(piece.data):
        return True
    if size != piece.offset:
        return False
    with target.open("ab") as file:
        file.write(piece.data)
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
