"""A campaign that is stored at an fsspec URI, and runs in a directory of this machine."""

from __future__ import annotations

import contextlib
import hashlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tzerlike.campaign.cluster.parcel import files_below, inside
from tzerlike.campaign.directory import CampaignDir, alone_with
from tzerlike.core.errors import TzerlikeError, UserError
from tzerlike.core.storage import TEMPORARY, remove, write_whole

EVERY = 2.0
"""Seconds between two looks for what is new."""

_SAVES_EVERY = 15.0
"""The same for what workers save of themselves, which is sent as a whole each time."""

_WORKERS = "workers/"
_CASE = "case.json"
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://.+")

_Stamp = tuple[int, int]
"""When a file was written last, in ns, and its size."""


def is_uri(place: str) -> bool:
    return bool(_URI.fullmatch(place))


@contextlib.contextmanager
def working_directory(uri: str, cache: Path, tell: Callable[[str], None]) -> Iterator[Path]:
    """Yield a directory below `cache` with what the campaign at `uri` has, and keep the URI up to date within.

    One process at a time may work on a campaign; nothing at the URI says that one does. The directory is removed
    unless something could not be sent, which the next to come here with this URI sends. UserError where the URI cannot
    be used, or another process of this machine uses it; one that names the directory is raised with the URI in its
    place.
    """
    root = cache / "campaigns" / hashlib.sha256(uri.encode()).hexdigest()[:16]
    root.parent.mkdir(parents=True, exist_ok=True)
    with alone_with(root.with_suffix(".lock"), uri):
        remote = Remote(uri, CampaignDir(root))
        remote.fetch()
        over = threading.Event()
        thread = threading.Thread(target=_keep, args=(remote, over, tell), daemon=True)
        thread.start()
        try:
            yield root
        except UserError as error:
            raise type(error)(str(error).replace(str(root), uri)) from error
        finally:
            over.set()
            thread.join()
            with _as_user_error(uri, f"cannot be written; the missing files are in {root}, and --resume sends them"):
                remote.send(everything=True)
            remove(root)


def fetch(uri: str, target: Path) -> None:
    """Lay down the campaign at `uri` in a new directory; UserError where there is none, or the directory is not
    empty."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UserError(f"{target}: already exists; name another directory")
    remote = Remote(uri, CampaignDir(target))
    remote.fetch()
    if not remote.directory.config.exists():
        raise UserError(f"{uri}: not a campaign")


class Remote:
    """What a URI has of a campaign, and what it lacks."""

    def __init__(self, uri: str, directory: CampaignDir) -> None:
        self.uri = uri
        self.directory = directory
        try:
            import fsspec
        except ImportError as error:
            raise UserError("--out: fsspec is not installed; pip install 'tzerlike[uri]'") from error
        with _as_user_error(uri, "cannot be used"):
            self._files, self._root = fsspec.core.url_to_fs(uri)
        self._sent: dict[str, _Stamp] = {}
        self._saved = -_SAVES_EVERY

    def fetch(self) -> None:
        """Lay down all that the URI has, over what an earlier process could not send; nothing of another campaign
        stays."""
        root = self.directory.root
        with _as_user_error(self.uri, "cannot be read"):
            self._files.invalidate_cache()
            found = self._files.find(self._root) if self._files.exists(self._root) else []
            names = [inside(path.removeprefix(self._root).strip("/")) for path in found]
            if self.directory.config.name not in names:
                remove(root)
            for name, path in zip(names, found, strict=True):
                if not Path(name).name.startswith(TEMPORARY):
                    (root / name).parent.mkdir(parents=True, exist_ok=True)
                    write_whole(root / name, self._files.cat_file(path))
                    self._sent[name] = _stamp(root / name)
        for bundle in [bundle for bundle in self.directory.bundles() if not (bundle / _CASE).exists()]:
            # Its other files were sent first.
            remove(bundle)

    def send(self, everything: bool = False) -> None:
        """Send what is new, and take away what is gone, unless all of it is; OSError where that is not possible
        now."""
        saves = everything or time.monotonic() - self._saved > _SAVES_EVERY
        if saves:
            self._saved = time.monotonic()
        root = self.directory.root
        paths = {path.relative_to(root).as_posix(): path for path in files_below(root)}
        for name in sorted(paths, key=lambda name: (name.endswith(_CASE), name)):
            if saves or not name.startswith(_WORKERS):
                with contextlib.suppress(FileNotFoundError):
                    self._send_file(name, paths[name])
        gone = [name for name in self._sent if name not in paths]
        for name in gone if self.directory.config.exists() else ():
            with contextlib.suppress(FileNotFoundError):
                self._files.rm_file(f"{self._root}/{name}")
            del self._sent[name]

    def _send_file(self, name: str, path: Path) -> None:
        stamp = _stamp(path)
        if self._sent.get(name) == stamp:
            return
        data = path.read_bytes()
        target = f"{self._root}/{name}"
        self._files.makedirs(target.rpartition("/")[0], exist_ok=True)
        if "file" in _protocols(self._files):
            # Elsewhere a file is whole or absent anyway.
            write_whole(Path(target), data)
        else:
            self._files.pipe_file(target, data)
        self._sent[name] = stamp


def _keep(remote: Remote, over: threading.Event, tell: Callable[[str], None]) -> None:
    """Send what is new until it is over; say so where that is not possible, and when it is possible again."""
    failing = False
    while not over.wait(EVERY):
        try:
            remote.send()
        except Exception as error:  # noqa: BLE001 - each store raises what it likes
            if not failing:
                tell(f"{remote.uri} cannot be written ({error}); new files wait")
            failing = True
        else:
            if failing:
                tell(f"{remote.uri} can be written again")
            failing = False


@contextlib.contextmanager
def _as_user_error(uri: str, what: str) -> Iterator[None]:
    try:
        yield
    except TzerlikeError:
        raise
    except Exception as error:  # each store raises what it likes
        raise UserError(f"{uri}: {what}: {error}") from error


def _protocols(files: Any) -> tuple[str, ...]:
    named = files.protocol
    return (named,) if isinstance(named, str) else tuple(named)


def _stamp(path: Path) -> _Stamp:
    status = path.stat()
    return status.st_mtime_ns, status.st_size
