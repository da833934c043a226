"""The rooms of tzerlike depend on each other in one direction."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import tzerlike
from tzerlike.systems import TVM

ROOT = Path(tzerlike.__file__).parent


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_module(path): path for path in ROOT.rglob("*.py")}


@cache
def _nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def _imported(path: Path) -> Iterator[str]:
    for node in _nodes(path):
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
    return module.split(".")[1]


def _house() -> dict[str, set[str]]:
    """Each room with those that it imports."""
    rooms: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        if module != "tzerlike":
            others = {_room(name) for name in _imported(path) if name != "tzerlike"}
            rooms.setdefault(_room(module), set()).update(others - {_room(module)})
    return rooms


def _floors(rooms: dict[str, set[str]]) -> dict[str, int]:
    """The floor of each room: one above the highest that it imports. CycleError names the rooms of a circle."""
    floors: dict[str, int] = {}
    for room in TopologicalSorter(rooms).static_order():
        floors[room] = 1 + max((floors[below] for below in rooms[room]), default=0)
    return floors


def test_imports_run_one_way_over_few_floors() -> None:
    rooms = _house()
    floors = _floors(rooms)
    for floor in range(max(floors.values()), 0, -1):
        for room in sorted(room for room in rooms if floors[room] == floor):
            print(f"{floor:2}  {room:12} {' '.join(sorted(rooms[room], key=lambda other: (floors[other], other)))}")  # noqa: T201 - the map
    assert len(rooms) > 15
    assert max(floors.values()) <= 12


ALIKE = {
    "commands and roles of the zygote are named as they are called": {
        "add", "build", "fuzz", "prepare", "reduce", "remove", "replay", "report", "run_case", "trace", "triage",
    },
    "examiners and tables of jobs are found by name; what calls an examiner is named like it": {"JOBS", "look_again"},
    "every process and every kind of file has one": {"main", "SCHEMA_VERSION"},
    "every harness has one": {"HARNESS"},
}  # fmt: skip
"""Why a public name may be defined in more than one room."""


def _defined(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            stored = (name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
            yield from (name.id for name in stored if isinstance(name.ctx, ast.Store))


def test_no_public_name_is_defined_in_two_rooms() -> None:
    rooms: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        if module != "tzerlike":
            for name in _defined(path):
                rooms.setdefault(name, set()).add(_room(module))
    alike = {name: homes for name, homes in rooms.items() if len(homes) > 1 and not name.startswith("_")}
    allowed = set().union(*ALIKE.values())
    assert {name: homes for name, homes in alike.items() if name not in allowed} == {}
    assert allowed <= alike.keys()


def test_few_modules_stand_outside_of_the_rooms() -> None:
    loose = {path.stem for path in ROOT.glob("*.py")}
    assert loose <= {"__init__", "__main__", "api", "plugins", "testing"}


WITH_TVM = {"systems", "passes", "tir", "mutators", "execution", "arith", "harnesses", "graph"}
"""Rooms that may load the compiler under test wherever they like."""

IN_CHILDREN = {
    "cli.roles",
    "findings.versions.guest",
    "findings.versions.judge",
    "oracles.mutation",
    "oracles.performance.examiner",
    "oracles.primitives.due",
    "oracles.primitives.examiner",
    "oracles.round_trip.examiner",
    "oracles.schedule_calls",
    "oracles.schedule_lookups",
    "oracles.schedule_trace",
    "oracles.schedules.alone",
    "oracles.schedules.documented",
    "oracles.schedules.examiner",
    "oracles.schedules.fitted",
    "oracles.schedules.judge",
    "oracles.schedules.smaller",
    "oracles.schedules.trace",
    "testing",
}
"""What else loads it: in workers and in their children, never in a process of the commands."""


def test_who_may_import_tvm() -> None:
    """Not what reads results, nor what starts processes and waits for them."""
    door = {
        f"tzerlike.systems.{name}"
        for name in ("tvm_api", "tvm_build", "tvm_passes", "older_tvm", "older_map", "compilation")
    }
    found = {module for module, path in MODULES.items() if module != "tzerlike" and door & set(_imported(path))}
    assert {module.removeprefix("tzerlike.") for module in found if _room(module) not in WITH_TVM} == IN_CHILDREN


OF_TENSOR_IR = {"systems", "passes", "tir", "mutators", "execution", "harnesses", "arith"}
"""Rooms of the harness of tensor IR, with what they stand on; that of arithmetic has a bridge to TVM's expressions."""

KNOW_TENSOR_IR = {
    "oracles whose rows say so": {
        "oracles.mutation", "oracles.performance.examiner", "oracles.primitives.due",
        "oracles.primitives.examiner", "oracles.schedule_lookups", "oracles.schedule_trace", "oracles.schedules.alone",
        "oracles.schedules.documented", "oracles.schedules.examiner", "oracles.schedules.fitted",
        "oracles.schedules.judge", "oracles.schedules.smaller",
    },
    "what runs in another TVM for replay --python": {"findings.versions.judge"},
    "the conformance kit for mutators": {"testing"},
}  # fmt: skip
"""What else knows what a PrimFunc is, and why."""


def test_who_knows_what_a_primfunc_is() -> None:
    words = {"PrimFunc", "entry_of", "module_of", "tirx", "s_tir"}
    found = set()
    for module, path in MODULES.items():
        names = {
            getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "name", None)
            for node in _nodes(path)
            if isinstance(node, ast.Name | ast.Attribute | ast.alias)
        }
        if module != "tzerlike" and words & names and _room(module) not in OF_TENSOR_IR:
            found.add(module.removeprefix("tzerlike."))
    assert found == set().union(*KNOW_TENSOR_IR.values())


def test_nothing_but_systems_names_a_version() -> None:
    """Elsewhere a difference between versions is a function or a value of `tzerlike.systems`."""
    series = {".".join(version.split(".")[:2]) for version in TVM.releases}
    named = re.compile(rf"(?<![\d.])({'|'.join(map(re.escape, sorted(series)))})(?!\d)")
    words = (tokenize.COMMENT, tokenize.STRING)
    for module, path in MODULES.items():
        if not module.startswith("tzerlike.systems"):
            with path.open("rb") as file:
                for token in tokenize.tokenize(file.readline):
                    assert token.type not in words or not named.search(token.string), f"{path}:{token.start[0]}"


def test_the_commands_own_process_does_without_tvm() -> None:
    code = "import sys, tzerlike.api, tzerlike.cli.main; print({'tvm', 'tvm_ffi'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "set()\n"
