"""The sources of a campaign's first functions: the built-in ones, or a user's directory.

Importing this package, and reading a cached collection, imports no TVM.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from importlib import import_module
from pathlib import Path

from tzerlike.core.errors import TzerlikeError, UserError
from tzerlike.core.package import PACKAGE, SEEDS
from tzerlike.core.targets import kind_of_target
from tzerlike.passes.dlight import lacks_threads
from tzerlike.passes.facts import facts_of
from tzerlike.tir.seeds import handwritten
from tzerlike.tir.seeds.cache import Collection, key_of, load_seeds
from tzerlike.tir.seeds.generate import Factory, Recipe, generate
from tzerlike.tir.seeds.seed import Seed

__all__ = [
    "SOURCES",
    "Collection",
    "Seed",
    "builtin_collection",
    "builtin_seeds",
    "graph_collection",
    "seeds_directory",
    "seeds_for",
    "seeds_from_directory",
]


def _recipes_of(module: str) -> Iterable[Recipe]:
    recipes: Iterable[Recipe] = import_module(f"{__name__}.{module}").recipes()
    return recipes


SOURCES: dict[str, Factory] = {
    "handwritten": lambda: handwritten.recipes(seeds_directory()),
    "topi": partial(_recipes_of, "topi"),
    "relax": partial(_recipes_of, "lowered"),
    "kernels": partial(_recipes_of, "kernels"),
    "tiles": partial(_recipes_of, "tiles"),
}
"""The built-in sources; of equal functions the one from the earlier source stays. Tiles are TileLang's alone."""


def seeds_directory() -> Path:
    """Return the directory of the hand-written seeds."""
    if not (SEEDS / "MANIFEST.toml").is_file():
        raise TzerlikeError(f"the hand-written seeds are missing: {SEEDS}/MANIFEST.toml")
    return SEEDS


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
        PACKAGE / "tir" / "tile_language.py",
        *(PACKAGE / "systems").glob("tvm_*.py"),
    ]
    return load_seeds("builtin", cache_dir, key_of(files), lambda: generate(SOURCES))


def builtin_seeds(cache_dir: Path, target: str | None = None) -> tuple[Seed, ...]:
    """Return the built-in seeds sorted by name: those for the target kind `target`, or all of them for None."""
    seeds = builtin_collection(cache_dir).seeds
    return tuple(seed for seed in seeds if target is None or seed.target == target)


def graph_collection(cache_dir: Path) -> Collection:
    """Return the functions that drawn models are lowered to, made and stored like the built-in ones."""
    files = [*Path(__file__).resolve().parent.glob("*.py"), *(PACKAGE / "graph").rglob("*.py")]
    sources = {"graph": partial(_recipes_of, "graph_models")}
    return load_seeds("graph", cache_dir, key_of(files), lambda: generate(sources))


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


def seeds_for(source: str, target: str, cache_dir: Path) -> tuple[list[Seed], list[str]]:
    """Return the seeds of `--seeds` that fit the target, and what was wrong with those left out.

    UserError when the source does not exist or holds nothing that fits.
    """
    problems: list[str] = []
    if source == "none":
        return [_empty(target)], problems
    if source == "builtin":
        found = builtin_seeds(cache_dir)
    elif source == "graph":
        found = graph_collection(cache_dir).seeds
    elif source == "tiles":
        found = tuple(seed for seed in builtin_seeds(cache_dir) if seed.origin == "tiles")
    else:
        found, refused = seeds_from_directory(Path(source))
        problems = [f"{path}: {reason}" for path, reason in refused]
    fitting = [seed for seed in found if kind_of_target(seed.target) == target or _to_be_scheduled(seed, target)]
    if not fitting:
        raise UserError(f"--seeds: {source} has no seed for --target {target}")
    return fitting, problems


def _to_be_scheduled(seed: Seed, target: str) -> bool:
    """Whether a seed is what models are lowered to, which TVM's pipelines for GPUs give threads: not what has a
    schedule of its own, or takes a host."""
    if target == "llvm" or seed.origin not in ("relax", "graph") or seed.name.startswith("relax.schedule_"):
        return False
    return lacks_threads(facts_of(seed.ir))


def _empty(target: str) -> Seed:
    from tzerlike.systems import tvm_api

    func = tvm_api.PrimFunc([], tvm_api.tirx.Evaluate(tvm_api.tirx.const(0, "int32")))
    return Seed("empty", "none", target, tvm_api.dump_ir(tvm_api.module_of(func)), 3)
