"""What several commands read and print alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from tzerlike.processes.caller import Interpreter, cache_directory
from tzerlike.systems.builds import Store


def names_in(text: str) -> tuple[str, ...]:
    """The names of a comma-separated list."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


unconfined_option = click.option(
    "--unconfined", is_flag=True, help="Go on where this machine cannot confine a case: trust whoever wrote it."
)
"""The option of commands that run cases from elsewhere."""


def open_store() -> Store:
    """The builds of TVM that this user has."""
    return Store(cache_directory() / "tvm")


def interpreter_of(build: str) -> Interpreter | None:
    """The interpreter of a build of TVM; None, which is this one, for the TVM that is installed, "".

    UserError when there is no such build, or it is not done.
    """
    return tvm_of(build)[1]


def tvm_of(build: str) -> tuple[Path, Interpreter | None]:
    """The cache that goes with a build of TVM, or with the TVM that is installed, and what `interpreter_of` says."""
    if not build:
        return cache_directory(), None
    found = open_store().ready(build)
    return found.cache, Interpreter(found.python, found.variables)


def print_table(columns: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    """Print rows as a table: numbers to the right, long texts folded."""
    table = Table(box=None, padding=(0, 1))
    for column in columns:
        numeric = bool(rows) and isinstance(rows[0].get(column, 0), int)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(str(row.get(column, "")) for column in columns))
    Console().print(table)
