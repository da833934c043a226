"""`tzerlike bisect`: the guilty pass."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import click

from tzerlike.cli.commands.shared import unconfined_option
from tzerlike.findings.bisect.bundles import Bisected, bisect_bundles
from tzerlike.findings.refresh import refresh_report
from tzerlike.processes.caller import open_client


@click.command()
@click.argument("bundles", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--diff", is_flag=True, help="Print the TIR before and after the guilty pass too.")
@unconfined_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def bisect(bundles: tuple[Path, ...], diff: bool, unconfined: bool, as_json: bool) -> None:
    """Find the guilty pass of each bundle, with what it changes, and write it to bisect.json and report.md."""

    def tell(result: Bisected) -> None:
        if result.bisection is not None:
            refresh_report(result.path)
        if as_json:
            return
        click.echo(result.line())
        if result.bisection is not None and result.bisection.detail:
            click.echo(f"  {result.bisection.detail.splitlines()[0]}")
        if diff and result.bisection is not None and result.bisection.diff:
            click.echo(result.bisection.diff)

    results = bisect_bundles(bundles, partial(open_client, unconfined=unconfined), tell)
    if as_json:
        click.echo(json.dumps([result.to_json() for result in results]))
    sys.exit(0 if all(result.bisection is not None for result in results) else 1)
