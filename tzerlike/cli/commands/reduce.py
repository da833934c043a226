"""`tzerlike reduce`: smaller bundles."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import click

from tzerlike.api import open_tvm
from tzerlike.cli.commands.shared import tvm_option, unconfined_option
from tzerlike.cli.named import named_bundles
from tzerlike.cli.progress import progress
from tzerlike.core.config import parse_duration
from tzerlike.core.errors import UserError
from tzerlike.core.untrusted import one_line
from tzerlike.findings.reduction.run import Reduction, reduce_bundles
from tzerlike.findings.refresh import refresh_report
from tzerlike.processes.cores import usable_cores
from tzerlike.processes.signals import exit_status


@click.command()
@click.argument("bundles", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option(
    "--jobs", type=click.IntRange(1, 256), default=None, help="Bundles reduced in parallel.  [default: usable cores]"
)
@click.option("--budget", default="5m", show_default=True, help="Time for each bundle: 90s, 5m, 1h.")
@tvm_option
@unconfined_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def reduce(bundles: tuple[Path, ...], jobs: int | None, budget: str, tvm: str, unconfined: bool, as_json: bool) -> None:
    """Shrink bundles, keeping the finding the same; reduced/ has the result, report.md describes it.

    Wrong code and ill-typed IR are bisected too.

    BUNDLES are bundles, their ids, or campaigns.
    """

    def tell(reduction: Reduction) -> None:
        if reduction.after is not None:
            try:
                refresh_report(reduction.path)
            except UserError as error:
                click.echo(f"{reduction.path}: its report stays as it is: {one_line(str(error))}", err=True)
        if not as_json:
            click.echo(reduction.line())

    with progress("bundles") as steps:
        results, stopped_by = reduce_bundles(
            named_bundles(bundles),
            jobs if jobs is not None else usable_cores(),
            parse_duration(budget),
            partial(open_tvm, tvm, unconfined=unconfined),
            tell,
            steps,
        )
    if as_json:
        click.echo(json.dumps([result.to_json() for result in results]))
    if stopped_by:
        click.echo("interrupted; the best result so far is saved; run it again to continue", err=True)
        sys.exit(exit_status(stopped_by))
    sys.exit(0 if all(result.good for result in results) else 1)
