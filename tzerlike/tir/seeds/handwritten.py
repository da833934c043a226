"""Seeds written by hand: TVMScript files that `MANIFEST.toml` lists, parsed and never executed.

Imports TVM only to parse.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tzerlike.core.errors import TzerlikeError
from tzerlike.tir.constants import lines_of
from tzerlike.tir.seeds.generate import Recipe


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """One line of the manifest: where a function is, what it is for, and the target it needs."""

    file: str
    function: str
    why: str
    tags: tuple[str, ...]
    target: str = "llvm"


def manifest(directory: Path) -> tuple[ManifestEntry, ...]:
    """Return the entries of `directory`/MANIFEST.toml; TzerlikeError names the faulty one."""
    path = directory / "MANIFEST.toml"
    try:
        listed = tomllib.loads(path.read_text(encoding="utf-8"))["seed"]
        entries = tuple(ManifestEntry(**{**item, "tags": tuple(item["tags"])}) for item in listed)
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise TzerlikeError(f"{path}: {error}") from error
    return entries


def definitions(text: str) -> dict[str, str]:
    """Return the source of every top-level function and class of a Python text, decorators included, by name.

    Raises SyntaxError when the text is not Python.
    """
    lines = lines_of(text)
    found: dict[str, str] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found[node.name] = "".join(lines[first - 1 : node.end_lineno])
    return found


def recipes(directory: Path) -> Iterator[Recipe]:
    """Yield the recipe of every manifest entry; TzerlikeError where manifest and files disagree."""
    entries = manifest(directory)
    files = {entry.file for entry in entries}
    try:
        texts = {name: definitions((directory / name).read_text(encoding="utf-8")) for name in sorted(files)}
    except (OSError, SyntaxError, ValueError) as error:
        raise TzerlikeError(f"{directory}: {error}") from error
    listed = [(entry.file, entry.function) for entry in entries]
    present = [(name, function) for name, functions in texts.items() for function in functions]
    for file, function in sorted(set(listed) ^ set(present)):
        raise TzerlikeError(f"{directory}: {function} of {file} is in the manifest or in the file, but not in both")
    for entry in entries:
        name = f"handwritten.{Path(entry.file).stem}.{entry.function}"
        yield Recipe(name, partial(_parse, texts[entry.file][entry.function]), entry.target)


def _parse(text: str) -> dict[str, Any]:
    from tzerlike.systems.tvm_api import parse_script

    return {"": parse_script(text)}
