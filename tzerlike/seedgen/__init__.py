"""Where a campaign's first functions come from: the built-in sources, or a user's directory.

Importing this package, and reading a cached collection, imports no TVM.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tzerlike.errors import TzerlikeError
from tzerlike.seedgen.cache import Collection, key_of, load_seeds
from tzerlike.seedgen.generate import Factory, Recipe, generate
from tzerlike.seedgen.seed import Seed

__all__ = [
    "SOURCES",
    "Collection",
    "Seed",
    "builtin_collection",
    "builtin_seeds",
    "seeds_directory",
]


def _handwritten() -> Iterable[Recipe]:
    from tzerlike.seedgen import handwritten

    return handwritten.recipes(seeds_directory())


def _topi() -> Iterable[Recipe]:
    from tzerlike.seedgen import topi

    return topi.recipes()


SOURCES: dict[str, Factory] = {
    "handwritten": _handwritten,
    "topi": _topi,
}
"""The built-in sources; of equal functions the one from the earlier source stays."""


def seeds_directory() -> Path:
    """Return the directory of the hand-written seeds, which stands beside the package in a source checkout."""
    path = Path(__file__).resolve().parents[2] / "seeds"
    if not (path / "MANIFEST.toml").is_file():
        raise TzerlikeError(f"the hand-written seeds are missing: {path}/MANIFEST.toml")
    return path


def builtin_collection(cache_dir: Path) -> Collection:
    """Return every built-in seed, of any target, and what was left out and why.

    The first call for a TVM build generates them (some ten seconds, in forked children) and stores them in
    `cache_dir`; later calls read them back without TVM.
    """
    package = Path(__file__).resolve().parent
    directory = seeds_directory()
    files = [*package.glob("*.py"), *directory.glob("*.py"), directory / "MANIFEST.toml", package.parent / "tvm_api.py"]
    return load_seeds("builtin", cache_dir, key_of(files), lambda: generate(SOURCES))


def builtin_seeds(cache_dir: Path, target: str | None = "llvm") -> tuple[Seed, ...]:
    """Return the built-in seeds for a target kind, sorted by name; for None those of every target."""
    seeds = builtin_collection(cache_dir).seeds
    return tuple(seed for seed in seeds if target is None or seed.target == target)
