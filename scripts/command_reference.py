"""Write docs/commands.md, the reference of commands, from their help texts: `python scripts/command_reference.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from tzerlike.cli.main import cli

PAGE = Path(__file__).resolve().parents[1] / "docs" / "commands.md"
_WIDTH = 100
_HEAD = """\
# Commands

The output of `tzerlike COMMAND --help` for every command, made by `python scripts/command_reference.py`; do not edit.
"""


def page() -> str:
    """Return the text of the reference."""
    parts = [_HEAD]
    for name, text in _helps(cli, click.Context(cli, **_options("tzerlike"))):
        parts.append(f"## {name}\n\n```\n{text}\n```\n")
    return "\n".join(parts)


def _helps(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    yield context.command_path, text
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from _helps(child, click.Context(child, parent=context, **_options(name)))


def _options(name: str) -> dict[str, object]:
    return {
        "info_name": name,
        "terminal_width": _WIDTH,
        "max_content_width": _WIDTH,
        "help_option_names": ["-h", "--help"],
    }


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
