"""Defaults of options from `tzerlike.toml`, or `[tool.tzerlike]` of `pyproject.toml`, as click's default_map."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from tzerlike.core.errors import UserError
from tzerlike.core.untrusted import SCRIPT_BYTES, read_bytes

OWN, SHARED = "tzerlike.toml", "pyproject.toml"

_NOT_FROM_FILES = frozenset({"--html", "--python", "--source", "--unconfined"})
"""Options that name code to run, let cases out of confinement, or overwrite a file: what came with somebody's
bundles may not."""


def defaults_for(group: click.Group, start: Path) -> dict[str, Any]:
    """Return the defaults that hold in the directory `start`, by command and option, from the nearest file above it.

    A table for each command, `[fuzz]` or `[tool.tzerlike.fuzz]`, `[ci.batch]`, with options as on the command line. A
    tzerlike.toml goes before a pyproject.toml beside it. UserError on a command or an option that there is none of,
    or that is for the command line alone.
    """
    for directory in (start, *start.parents):
        for path in (directory / OWN, directory / SHARED):
            if os.access(path, os.R_OK) and path.is_file() and (table := _table(path)) is not None:
                return _checked(group, table, str(path))
    return {}


def _table(path: Path) -> Mapping[str, Any] | None:
    """What a file says, be it a link; None for a pyproject.toml that says nothing of us."""
    try:
        text = read_bytes(path.resolve(), SCRIPT_BYTES).decode()
        table: Any = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError, UserError) as error:
        if path.name == SHARED:
            return None
        raise UserError(f"{path}: not readable as TOML: {error}") from error
    if path.name == SHARED:
        tools = table.get("tool")
        table = tools.get("tzerlike") if isinstance(tools, dict) else None
    return table if isinstance(table, dict) else None


def _checked(group: click.Group, table: Mapping[str, Any], where: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, values in table.items():
        command = group.get_command(click.Context(group), name)
        if command is None or not isinstance(values, dict):
            raise UserError(f"{where}: {name}: no such command; use one table per command, such as [fuzz]")
        if isinstance(command, click.Group):
            found[name] = _checked(command, values, f"{where}: {name}")
            continue
        options = _options(command)
        for option, value in values.items():
            if option not in options:
                raise UserError(f"{where}: {name}: {option}: no such option; see tzerlike {name} --help")
            if f"--{option}" in _NOT_FROM_FILES:
                raise UserError(f"{where}: {name}: {option}: can be set only on the command line or by a variable")
            found.setdefault(name, {})[str(options[option].name)] = _as_given(options[option], value)
    return found


def _as_given(option: click.Option, value: Any) -> Any:
    """A value as click takes it: an option that may be repeated has a list, any other a text, its names with commas."""
    if option.multiple:
        return value if isinstance(value, list) else [value]
    return ",".join(map(str, value)) if isinstance(value, list) else value


def _options(command: click.Command) -> dict[str, click.Option]:
    """The long names of a command's options, and these."""
    return {
        flag.removeprefix("--"): option
        for option in command.params
        if isinstance(option, click.Option)
        for flag in option.opts
        if flag.startswith("--")
    }
