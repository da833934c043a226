"""`tzerlike tvm`: TVMs to test besides the installed one: from wheels, from environments, built from source."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from tzerlike.api import open_store
from tzerlike.cli.commands.shared import print_table
from tzerlike.cli.progress import progress
from tzerlike.core.errors import UserError
from tzerlike.core.harness import HARNESSES
from tzerlike.core.progress import Steps
from tzerlike.oracles import ORACLES, missing_for
from tzerlike.processes.caller import whole_environment
from tzerlike.processes.signals import status_of
from tzerlike.systems.builds.adding import Adder, wheel_of
from tzerlike.systems.builds.interruptions import GOES_ON, space_needed
from tzerlike.systems.builds.make import Maker
from tzerlike.systems.builds.ninja import Progress
from tzerlike.systems.builds.recipe import BuildRecipe
from tzerlike.systems.builds.source import KNOWN, tree
from tzerlike.systems.builds.store import disk_size
from tzerlike.systems.builds.tools import find_toolchain

_LINE_EVERY = 30.0


@click.group()
def tvm() -> None:
    """Manage other TVMs for `--tvm`: releases, your environments, builds that count edges."""


@tvm.command("build")
@click.option("--source", type=click.Path(path_type=Path), default=None, help="Source tree; by default a known one.")
@click.option("--name", default=None, help="Name of the build.  [default: TVM's version, or the tree's directory]")
@click.option("--jobs", type=click.IntRange(1, 1024), default=None, help="Parallel compilers.  [default: cores]")
@click.option("--asan", is_flag=True, help="With AddressSanitizer, which stops at the first bad access.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def build(source: Path | None, name: str | None, jobs: int | None, asan: bool, as_json: bool) -> None:
    """Build TVM from source with clang, or continue an interrupted build."""
    tools = find_toolchain()
    store, environment = open_store(), whole_environment()
    screen = _Screen()
    try:
        with space_needed():
            found = tree(source) if source is not None else KNOWN.fetch(store.sources, environment, screen.tell)
            maker = Maker(store, environment, tell=screen.tell, show=screen.show)
            usual = (source.resolve().name if source else found.version) + "-asan" * asan
            made = maker.make(BuildRecipe(found, tools, asan), name or usual, jobs)
    except KeyboardInterrupt as interruption:
        screen.tell(f"interrupted; {GOES_ON}")
        sys.exit(status_of(interruption))
    finally:
        screen.close()
    if as_json:
        click.echo(json.dumps(made))
        return
    click.echo(f"{made['name']}: TVM {made['version']} with LLVM {made['llvm']}, {made['edges']:,} edges")
    click.echo(f"run on it: tzerlike fuzz --tvm {made['name']}")


@tvm.command("add")
@click.argument("name")
@click.option("--wheel", default="", help="apache-tvm==VERSION, tilelang==VERSION, or a file that ends with .whl.")
@click.option("--ffi", default="", help="The version of apache-tvm-ffi, with --wheel.  [default: the one known to fit]")
@click.option(
    "--python",
    type=click.Path(path_type=Path),
    default=None,
    help="Existing environment, or its python, with TVM and a matching tvm-ffi; it is not modified.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def add(name: str, wheel: str, ffi: str, python: Path | None, as_json: bool) -> None:
    """Add an existing TVM for `--tvm NAME`: a release, or the TVM of your environment."""
    if bool(wheel) == (python is not None):
        raise UserError("tvm add needs exactly one of --wheel and --python")
    screen = _Screen()
    adder = Adder(open_store(), whole_environment(), screen.tell)
    try:
        made = adder.add_wheel(wheel_of(wheel, ffi), name) if python is None else adder.add_python(python, name)
    except KeyboardInterrupt as interruption:
        screen.tell("interrupted; nothing was added")
        sys.exit(status_of(interruption))
    if as_json:
        click.echo(json.dumps(made))
        return
    click.echo(f"{name}: TVM {made['version']} with apache-tvm-ffi {made['ffi']} and LLVM {made['llvm']}")
    for line in _lines_of_features(made):
        click.echo(f"  {line}")
    click.echo(f"run on it: tzerlike fuzz --tvm {name}")


@tvm.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_builds(as_json: bool) -> None:
    """List the TVMs: name, state, version, edges, size, source, and what can be tested."""
    rows: list[dict[str, Any]] = [
        {
            "lacks": {},
            **found.described,
            "path": str(found.root),
            "python": str(found.python),
            "bytes": disk_size(found.root),
        }
        for found in open_store().builds()
    ]
    if as_json:
        click.echo(json.dumps(rows))
    elif not rows:
        click.echo("none yet; create one with tzerlike tvm add or tzerlike tvm build")
    else:
        for row in rows:
            row["size"] = f"{row['bytes'] / 1e9:.1f} GB"
        print_table(("name", "state", "version", "edges", "size", "source"), rows)
        for row in rows:
            click.echo("")
            for line in _lines_of_features(row):
                click.echo(f"{row['name']}: {line}")


def _lines_of_features(made: Mapping[str, Any]) -> Iterator[str]:
    """What can be tested on a TVM, and what cannot be and why."""
    lacks = made["lacks"]
    for label, names in (("harnesses", HARNESSES), ("oracles", ORACLES)):
        can = [name for name in names if not (missing_for(name, lacks) if names is ORACLES else name in lacks)]
        yield f"{label} {', '.join(can)}"
    yield f"coverage {', '.join(made.get('coverage', ['sancov']))}"
    for why in dict.fromkeys(lacks.values()):
        yield f"without {', '.join(name for name, own in lacks.items() if own == why)}: {why}"


@tvm.command("remove")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def remove(name: str, as_json: bool) -> None:
    """Remove a TVM; your own environment is left alone."""
    freed = open_store().remove(name)
    click.echo(json.dumps({"name": name, "freed": freed}) if as_json else f"{name} removed, {freed / 1e9:.1f} GB freed")


class _Screen:
    """Says on stderr how a build gets on: a bar with an estimate on a terminal, elsewhere now and then a line."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._reported = 0.0
        self._bar = ExitStack()
        self._steps: Steps | None = None

    def tell(self, line: str) -> None:
        self.close()
        click.echo(line, err=True)

    def show(self, state: Progress) -> None:
        if self._console.is_terminal:
            if self._steps is None:
                self._steps = self._bar.enter_context(progress("build", self._console))
            self._steps(state.done, state.total, "")
        elif time.monotonic() - self._reported > _LINE_EVERY or state.done == state.total:
            self._reported = time.monotonic()
            click.echo(state.line(), err=True)

    def close(self) -> None:
        self._bar.close()
        self._steps = None
