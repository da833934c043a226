"""Seeds from a user's files, each read in a child process, since a damaged file may crash TVM's loader."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.errors import TzerlikeError, UserError
from tzerlike.tir.allowlist.stored import require_allowed, require_graph
from tzerlike.tir.seeds.generate import Recipe, generate
from tzerlike.tir.seeds.handwritten import definitions
from tzerlike.tir.seeds.seed import Seed

MAX_NODES = 100_000
"""A user's functions may be large; what is larger than this is a mistake."""


def read_files(directory: Path, files: Sequence[Path]) -> tuple[tuple[Seed, ...], tuple[tuple[Path, str], ...]]:
    """Return the seeds in `files`, which are under `directory`, and the problems by file; see the package."""
    named = {str(file.relative_to(directory)): file for file in files}
    collection = generate({"dir": partial(_recipes, named)}, max_nodes=MAX_NODES, compiles=False)
    problems = tuple((_file_of(named, name), reason) for name, reason in collection.dropped)
    return collection.seeds, problems


def _file_of(named: dict[str, Path], seed: str) -> Path:
    """Return the file that gave the seed of this name."""
    return named[max((name for name in named if seed == name or seed.startswith((f"{name}/", f"{name}::"))), key=len)]


def _recipes(named: dict[str, Path]) -> Iterator[Recipe]:
    for name, path in sorted(named.items()):
        try:
            text = path.read_text(encoding="utf-8")
            yield from _from_json(name, text) if path.suffix == ".json" else _from_script(name, text)
        except (OSError, ValueError, SyntaxError, RecursionError, TzerlikeError) as error:
            yield Recipe(name, partial(_fail, f"{type(error).__name__}: {error}"), None)


def _fail(reason: str) -> dict[str, Any]:
    raise UserError(reason.splitlines()[0])


def _from_json(name: str, text: str) -> Iterator[Recipe]:
    data = json.loads(text)
    if not isinstance(data, dict):
        raise UserError("neither a case nor a module")
    if "nodes" in data:
        require_graph(text, "the module")
        yield Recipe(name, partial(_load, text), None)
        return
    case = Case.from_json(data.get("case", data))
    require_allowed(case)
    yield Recipe(name, partial(_load, case.ir), case.target)


def _from_script(name: str, text: str) -> Iterator[Recipe]:
    found = definitions(text)
    if not found:
        raise UserError("no function or class at the top level")
    for function, source in found.items():
        yield Recipe(name if len(found) == 1 else f"{name}::{function}", partial(_parse, source), None)


def _load(text: str) -> dict[str, Any]:
    from tzerlike.systems.tvm_api import load_ir

    return _functions(load_ir(text))


def _parse(source: str) -> dict[str, Any]:
    from tzerlike.systems.tvm_api import parse_script

    return _functions(parse_script(source))


def _functions(parsed: Any) -> dict[str, Any]:
    """Return the PrimFuncs of what was read by their names; a lone one by the empty name."""
    from tzerlike.systems.tvm_api import IRModule, PrimFunc

    if isinstance(parsed, PrimFunc):
        return {"": parsed}
    if not isinstance(parsed, IRModule):
        raise UserError(f"{type(parsed).__name__} is not a function of tensors")
    named = {name.name_hint: func for name, func in parsed.functions.items() if isinstance(func, PrimFunc)}
    if not named:
        raise UserError("the module has no PrimFunc")
    return {"": next(iter(named.values()))} if len(named) == 1 else dict(sorted(named.items()))
