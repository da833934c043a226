"""The command line: the commands put together, and what their faults end in.

Exit status: 0 done, 1 a finding (run) or one that did not show (replay), 2 usage or set-up error with one
line, 3 flaky (replay), 130, 143, 129 after SIGINT, SIGTERM, SIGHUP with everything saved.
"""

from __future__ import annotations

import contextlib
import sys
from typing import NoReturn

import click

from tzerlike import __version__
from tzerlike.cli.commands.bisect import bisect
from tzerlike.cli.commands.ci import ci
from tzerlike.cli.commands.corpus import corpus
from tzerlike.cli.commands.coverage import coverage
from tzerlike.cli.commands.doctor import doctor
from tzerlike.cli.commands.fuzz import fuzz
from tzerlike.cli.commands.inventory import mutators, passes, seeds
from tzerlike.cli.commands.judge import replay, run
from tzerlike.cli.commands.reduce import reduce
from tzerlike.cli.commands.report import report
from tzerlike.cli.commands.triage import triage
from tzerlike.cli.commands.tvm import tvm
from tzerlike.core.errors import TzerlikeError, UserError
from tzerlike.core.untrusted import one_line
from tzerlike.processes import signals

COMMANDS = (
    *(doctor, fuzz, run, replay, reduce, bisect, triage, report, coverage, corpus),
    *(seeds, passes, mutators, tvm, ci),
)


class _InOrder(click.Group):
    """Lists the commands in the order of use, not of the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(
    cls=_InOrder, commands=COMMANDS, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(__version__, prog_name="tzerlike")
def cli() -> None:
    """Find bugs in TVM's tensor-level compiler."""


def _out_of_memory() -> NoReturn:
    click.echo("tzerlike: out of memory; allow it more (ulimit -v), or fewer --jobs", err=True)
    sys.exit(2)


def main() -> None:
    """Entry point: one line and status 2 for what the user can mend, a traceback for a fault of ours."""
    try:
        signals.raise_stopped()
        cli.main(standalone_mode=False)
    except click.ClickException as error:
        click.echo(f"tzerlike: {error.format_message()}", err=True)
        sys.exit(2)
    except UserError as error:
        click.echo(f"tzerlike: {one_line(str(error))}", err=True)
        sys.exit(2)
    except OSError as error:
        # A full or broken place that the user named, standard output included; what is ours to handle never comes here.
        where = f"{error.filename}: " if error.filename else ""
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
    finally:
        signals.end_at_once()
