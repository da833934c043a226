"""Keeps generated seeds in one compressed file, so that a later start needs no TVM. Imports no TVM."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import json
import os
import sys
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tzerlike.core.errors import TzerlikeError, UserError
from tzerlike.systems import under_test
from tzerlike.tir.seeds.seed import Seed


@dataclass(frozen=True, slots=True)
class Collection:
    """What generation gave: `seeds` sorted by name, and for every function left out its name and the reason."""

    seeds: tuple[Seed, ...]
    dropped: tuple[tuple[str, str], ...] = ()


def key_of(files: Iterable[Path]) -> str:
    """Return the key of a collection: it changes with the TVM in use, with Python and with any of `files`.

    TVM is identified without importing it, by its version file and the size and time of its compiler library.
    """
    digest = hashlib.sha256()
    digest.update(repr(sys.version_info[:3]).encode())
    spec = importlib.util.find_spec("tvm")
    if spec is None or spec.origin is None:
        raise UserError("TVM is not installed in this Python environment; tzerlike doctor says what to install")
    package = Path(spec.origin).parent
    for name in ("_version.py", "libinfo.py"):
        version = package / name
        digest.update(version.read_bytes() if version.is_file() else b"")
    library = package / "lib" / under_test().code.library
    if library.exists():
        status = library.stat()
        digest.update(f"{status.st_size} {status.st_mtime_ns}".encode())
    for path in sorted(files, key=lambda path: (path.parent.name, path.name)):
        digest.update(f"{path.parent.name}/{path.name}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def load_seeds(source: str, cache_dir: Path, key: str, generate: Callable[[], Collection]) -> Collection:
    """Return the collection `source`, from `cache_dir` when it holds one made under `key`, else from `generate`.

    A file that is missing, stale or damaged is made again and replaced whole, by rename. A cache directory
    that cannot be written costs only time: the collection is returned all the same.
    """
    path = cache_dir / f"seeds-{source}.jsonl.gz"
    cached = _read(path, key)
    if cached is not None:
        return cached
    collection = generate()
    # A read-only cache is no reason to stop; the next start generates again.
    with suppress(OSError):
        _write(path, key, collection)
    return collection


def _read(path: Path, key: str) -> Collection | None:
    """Return what `_write` stored under `key`; None for anything else."""
    try:
        header_line, *lines = gzip.decompress(path.read_bytes()).splitlines()
        header = json.loads(header_line)
        if header["key"] != key or header["seeds"] != len(lines):
            return None
        seeds = tuple(Seed.from_json(json.loads(line)) for line in lines)
        return Collection(seeds, tuple((str(name), str(reason)) for name, reason in header["dropped"]))
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, TzerlikeError):
        return None


def _write(path: Path, key: str, collection: Collection) -> None:
    """Store `collection`; a reader sees the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    header = {"key": key, "seeds": len(collection.seeds), "dropped": collection.dropped}
    lines = [json.dumps(header), *(json.dumps(seed.to_json()) for seed in collection.seeds)]
    data = gzip.compress("\n".join(lines).encode(), compresslevel=3, mtime=0)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
