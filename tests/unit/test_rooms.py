"""The rooms of tzerlike depend on each other in one direction."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import tzerlike

ROOT = Path(tzerlike.__file__).parent


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_module(path): path for path in ROOT.rglob("*.py")}


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in MODULES:
                    yield inner
                elif node.module in MODULES:
                    yield node.module


def _room(module: str) -> str:
    """The package that a module is in; a module of the top level is a room of its own."""
    return ".".join(module.split(".")[:2])


def test_no_room_depends_on_one_that_depends_on_it() -> None:
    rooms: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        others = {_room(name) for name in _imported(path)} - {_room(module), "tzerlike"}
        rooms.setdefault(_room(module), set()).update(others)
    assert len(rooms) > 20
    order = tuple(TopologicalSorter(rooms).static_order())  # CycleError names the rooms of a circle
    assert order.index("tzerlike.errors") < order.index("tzerlike.executor") < order.index("tzerlike.commands")


def test_the_commands_own_process_does_without_tvm() -> None:
    code = "import sys, tzerlike.cli; print([name for name in ('tvm', 'tvm_ffi') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"
