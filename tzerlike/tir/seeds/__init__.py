"""Where a campaign's first functions come from: the built-in sources, or a user's directory.

Importing this package, and reading a cached collection, imports no TVM.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tzerlike.core.errors import TzerlikeError, UserError
from tzerlike.core.package import PACKAGE
from tzerlike.tir.seeds.cache import Collection, key_of, load_seeds
from tzerlike.tir.seeds.generate import Factory, Recipe, generate
from tzerlike.tir.seeds.seed import Seed

__all__ = [
    "SOURCES",
    "Collection",
    "Seed",
    "builtin_collection",
    "builtin_seeds",
    "seeds_directory",
    "seeds_from_directory",
]


def _handwritten() -> Iterable[Recipe]:
    from tzerlike.tir.seeds import handwritten

    return handwritten.recipes(seeds_directory())


def _topi() -> Iterable[Recipe]:
    from tzerlike.tir.seeds import topi

    return topi.recipes()


def _relax() -> Iterable[Recipe]:
    from tzerlike.tir.seeds import lowered

    return lowered.recipes()


def _kernels() -> Iterable[Recipe]:
    from tzerlike.tir.seeds import kernels

    return kernels.recipes()


SOURCES: dict[str, Factory] = {
    "handwritten": _handwritten,
    "topi": _topi,
    "relax": _relax,
    "kernels": _kernels,
}
"""The built-in sources; of equal functions the one from the earlier source stays."""


def seeds_directory() -> Path:
    """Return the directory of the hand-written seeds, which stands beside the package in a source checkout."""
    path = PACKAGE.parent / "seeds"
    if not (path / "MANIFEST.toml").is_file():
        raise TzerlikeError(f"the hand-written seeds are missing: {path}/MANIFEST.toml")
    return path


def builtin_collection(cache_dir: Path) -> Collection:
    """Return every built-in seed, of any target, and what was left out and why.

    The first call for a TVM build generates them (some ten seconds, in forked children) and stores them in
    `cache_dir`; later calls read them back without TVM.
    """
    ours = Path(__file__).resolve().parent
    directory = seeds_directory()
    files = [
        *ours.glob("*.py"),
        *directory.glob("*.py"),
        directory / "MANIFEST.toml",
        PACKAGE / "systems" / "tvm_api.py",
    ]
    return load_seeds("builtin", cache_dir, key_of(files), lambda: generate(SOURCES))


def builtin_seeds(cache_dir: Path, target: str | None = None) -> tuple[Seed, ...]:
    """Return the built-in seeds sorted by name: those for the target kind `target`, or all of them for None."""
    seeds = builtin_collection(cache_dir).seeds
    return tuple(seed for seed in seeds if target is None or seed.target == target)


def seeds_from_directory(path: Path) -> tuple[tuple[Seed, ...], tuple[tuple[Path, str], ...]]:
    """Return the seeds in a user's directory, sorted by name, and the files that gave none with the reason.

    It reads, at any depth, `.json` files (a Case, a corpus entry, or the text of `tvm_api.dump_ir`) and `.py`
    files of TVMScript, which are parsed and never run. Names are paths relative to `path`, with `/` and the
    function's name where a file holds several. A seed from a Case has the target of the Case; the others
    are for cuda where they bind threads and for llvm otherwise. What is not well-formed is a problem too.

    Raises UserError when `path` is not a directory or holds no such file. Imports TVM.
    """
    if not path.is_dir():
        raise UserError(f"--seeds: {path} is not a directory")
    files = sorted(file for file in path.rglob("*") if file.suffix in (".json", ".py") and file.is_file())
    if not files:
        raise UserError(f"--seeds: {path} has no .json or .py file")

    from tzerlike.tir.seeds.directory import read_files

    return read_files(path, files)
