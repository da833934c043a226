"""Files that are whole or absent, even after a power cut; and waiting for a full disk."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TextIO, TypeVar

from tzerlike.core.errors import StorageError, UserError
from tzerlike.core.untrusted import is_directory

TEMPORARY = ".tmp-"
"""How the names of files begin that are being written."""

_LOOKS = 0.5
"""Seconds between two looks at whether a lock is free."""

_T = TypeVar("_T")


class NoSpace(StorageError):
    """The disk is full, or a quota used up: what was to be written can be written once there is room."""


def storage_error(path: Path, error: OSError) -> StorageError:
    """What to raise where writing `path` ended in `error`."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return NoSpace(f"no space left for {path}; make room (nothing saved was lost)")
    return StorageError(f"{path}: {error.strerror}")


def make_directories(option: str, *paths: Path) -> None:
    """Make directories that a user asked for with an option; UserError where that is not possible."""
    for path in paths:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"{option}: cannot make {error.filename or path}: {error.strerror}") from error


def write_atomic(path: Path, data: bytes | str) -> None:
    """Write a file so that it is whole or absent whenever a reader looks, and stays after a power cut.

    A link at its place is replaced, and none is followed but those that the directory's own name goes through.
    StorageError where it cannot be written, NoSpace where the disk is full; the old file then stays as it was.
    """
    write_together(path.parent, {path.name: data})


def write_output(path: Path, data: str) -> None:
    """Write a file that a user named: as `write_atomic` does where there is a file or nothing, and otherwise into what
    is there, be it a link, a pipe or a device.

    StorageError where it cannot be written.
    """
    if not path.is_symlink() and (path.is_file() or not path.exists()):
        write_atomic(path, data)
        return
    try:
        path.write_text(data, encoding="utf-8")
    except OSError as error:
        raise storage_error(path, error) from error


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is whole or absent whenever a reader looks; a power cut may cost it.

    For copies: whoever has the original sends it again.
    """
    temporary = path.with_name(f"{TEMPORARY}{os.getpid()}-{path.name}")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(temporary, flags, 0o666), "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError as error:
        raise storage_error(path, error) from error


def write_together(directory: Path, files: Mapping[str, bytes | str]) -> None:
    """Write files of one directory as `write_atomic` does, each for itself, with one sync of the directory."""
    written: list[tuple[Path, Path]] = []
    path = directory
    try:
        for name, data in files.items():
            path = directory / name
            temporary = directory / f"{TEMPORARY}{os.getpid()}-{name}"
            written.append((temporary, path))
            # Whatever lies there is a leftover, or a trap.
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(temporary, flags, 0o666), "wb") as file:
                file.write(data.encode() if isinstance(data, str) else data)
                file.flush()
                os.fsync(file.fileno())
        for temporary, path in written:
            os.replace(temporary, path)
        if written:
            sync_directory(directory)
    except OSError as error:
        for temporary, _ in written:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        raise storage_error(path, error) from error


@contextlib.contextmanager
def locked(path: Path, seconds: float = 0.0) -> Iterator[TextIO]:
    """Hold the lock of a file, which ends with its holder; BlockingIOError where another process has it, after so many
    seconds still."""
    until = time.monotonic() + seconds
    # A link at its place is none of ours: what it points to stays as it is.
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, 0o666), "r+") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise
                time.sleep(_LOOKS)
        yield file


def write_new(path: Path, data: str) -> bool:
    """Write a file that is not there yet, whole; False where it is, or another writer comes first."""
    temporary = path.with_name(f"{TEMPORARY}{os.getpid()}-new-{path.name}")
    write_atomic(temporary, data)
    try:
        _link(temporary, path)
    except FileExistsError:
        return False
    except OSError as error:
        raise storage_error(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)
    sync_directory(path.parent)
    return True


def _link(temporary: Path, path: Path) -> None:
    """Give a file a name that is not taken, also where the file system has no links and a reader may see it half
    written."""
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
            raise
        with path.open("xb") as file:
            file.write(temporary.read_bytes())
            file.flush()
            os.fsync(file.fileno())


def sync_directory(path: Path) -> None:
    """Have the renames in a directory outlive a power cut."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def write_directory(target: Path, files: Mapping[str, bytes | str]) -> bool:
    """Write a directory of files, whole or not at all; False when there is one at `target` by the end.

    StorageError where it cannot be written.
    """
    temporary = target.parent / f"{TEMPORARY}{os.getpid()}-{target.name.rpartition('-')[2]}"
    remove(temporary)
    try:
        temporary.mkdir()
        for name, content in files.items():
            write_atomic(temporary / name, content)
        os.rename(temporary, target)
        sync_directory(target.parent)
        return True
    except FileExistsError:
        return False
    except OSError as error:
        if target.exists():
            return False
        raise storage_error(target, error) from error
    finally:
        remove(temporary)


def remove(path: Path) -> None:
    """Remove what lies at `path`, if anything does: a file, a pipe, a link itself, a directory with all that is in it.

    What cannot be removed stays.
    """
    if is_directory(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def write_json(path: Path, value: object) -> None:
    write_atomic(path, json_text(value))


def json_text(value: object) -> str:
    """Return the text of a JSON file that people may want to read."""
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


class Room:
    """Writes that wait while the disk is full.

    `over` says whether it is time to stop, and `tell` is called with why the work pauses, and "" when it goes on.
    """

    def __init__(
        self, over: Callable[[], bool], tell: Callable[[str], None], sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._over = over
        self._tell = tell
        self._sleep = sleep
        self._waiting = False

    def keep(self, write: Callable[[], _T]) -> _T:
        """Return what `write` returns; it is called again while it raises NoSpace, which passes once it is over."""
        while True:
            try:
                written = write()
            except NoSpace as error:
                if not self._waiting:
                    self._waiting = True
                    self._tell(str(error))
                if self._over():
                    raise
                self._sleep(_PAUSE)
            else:
                if self._waiting:
                    self._waiting = False
                    self._tell("")
                return written


_PAUSE = 1.0
"""Seconds between two tries."""
