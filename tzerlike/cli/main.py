"""The command line: all commands, and how their errors end the process."""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import shutil
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

import click

from tzerlike import __version__
from tzerlike.cli.defaults import defaults_for
from tzerlike.core.errors import TzerlikeError, UserError
from tzerlike.core.untrusted import one_line
from tzerlike.processes import signals

COMMANDS = {
    **{name: name for name in ("doctor", "fuzz")},
    **{name: "judge" for name in ("run", "replay")},
    **{name: name for name in ("reduce", "bisect", "triage", "report", "coverage", "corpus")},
    **{name: "inventory" for name in ("seeds", "passes", "mutators")},
    **{name: name for name in ("tvm", "ci", "cluster")},
}
"""The commands in the order of use, and the module of tzerlike.cli.commands that each is in."""


class _OnDemand(click.Group):
    """Imports a command when it is asked for: half of the time in which `tzerlike --version` answered was the import of
    what other commands need."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        module = importlib.import_module(f"tzerlike.cli.commands.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, cmd_name)
        return command


_STATUS = """\b
Exit status:
  0    done
  1    run: a finding; replay, reduce, bisect: some not as recorded; ci: something new
  2    a usage or set-up error, with one line that says what to do
  3    replay: a finding that shows only in some runs
  70   an internal error of tzerlike; please report it
  130, 143, 129  stopped by Ctrl-C, SIGTERM or SIGHUP, with everything saved

\b
Options can also be set by variables (TZERLIKE_FUZZ_BUDGET=1h for `fuzz --budget 1h`), and in tzerlike.toml or
under [tool.tzerlike] of pyproject.toml, here or in a parent directory ([fuzz] budget = "1h"); files cannot set
--html, --python, --source or --unconfined.
Completion for bash: eval "$(_TZERLIKE_COMPLETE=bash_source tzerlike)"; also zsh and fish."""

_WELCOME = """\
tzerlike finds bugs in TVM's tensor-level compiler: it mutates TIR programs and pass sequences, compiles them with the
installed TVM, and saves each failure as a bundle that can be replayed."""

_FIRST_COMMANDS = """
  tzerlike doctor              check this machine
  tzerlike fuzz --budget 2m    find bugs, save them in ./campaign
  tzerlike report campaign     show the findings

All commands: tzerlike --help"""


@click.group(
    cls=_OnDemand,
    invoke_without_command=True,
    epilog=_STATUS,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 110,
        "auto_envvar_prefix": "TZERLIKE",
    },
)
@click.version_option(__version__, "-V", "--version", prog_name="tzerlike")
@click.pass_context
def cli(context: click.Context) -> None:
    """Find bugs in TVM's tensor-level compiler."""
    if context.invoked_subcommand is None:
        click.echo(click.wrap_text(_WELCOME.replace("\n", " "), min(shutil.get_terminal_size().columns, 110)))
        click.echo(_FIRST_COMMANDS)


def _out_of_memory() -> NoReturn:
    click.echo("tzerlike: out of memory; raise the limit (ulimit -v) or use fewer --jobs", err=True)
    sys.exit(2)


def _defaults() -> dict[str, Any]:
    """What files say in the directory that this is called in; nothing where that is gone."""
    try:
        here = Path.cwd()
    except FileNotFoundError:
        return {}
    return defaults_for(cli, here)


def main() -> None:
    """Entry point: one line and status 2 for what the user can mend, a traceback for a fault of ours."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What the encoding of a terminal has no sign for ends no command.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        signals.raise_stopped()
        cli.main(prog_name="tzerlike", standalone_mode=False, default_map=_defaults())
    except click.ClickException as error:
        message = error.format_message()
        # A group that is named alone says what commands it has.
        click.echo(message if message.startswith("Usage: ") else f"tzerlike: {message}", err=True)
        sys.exit(2)
    except UserError as error:
        click.echo(f"tzerlike: {one_line(str(error))}", err=True)
        sys.exit(2)
    except OSError as error:
        # A full or broken place that the user named, standard output included; what is ours to handle never comes here.
        where = f"{error.filename}: " if error.filename else ""
        if error.errno == errno.ENOENT and not where:
            error.strerror = "the current directory is gone; change to one that is there"
        click.echo(f"tzerlike: {one_line(f'{where}{error.strerror or error}')}", err=True)
        with contextlib.suppress(OSError):
            sys.stdout.close()
        sys.exit(2)
    except TzerlikeError as error:
        if str(error).endswith("MemoryError"):
            _out_of_memory()
        click.echo(f"tzerlike: internal error, please report it: {error}", err=True)
        sys.exit(70)
    except MemoryError:
        _out_of_memory()
    except (KeyboardInterrupt, click.Abort) as interruption:
        signals.end_at_once()
        click.echo("tzerlike: interrupted", err=True)
        sys.exit(signals.status_of(interruption))
    except Exception:  # noqa: BLE001 - whatever else escapes is a fault of ours, and ends with its status
        traceback.print_exc()
        click.echo("tzerlike: internal error, please report it", err=True)
        sys.exit(70)
    finally:
        signals.end_at_once()
