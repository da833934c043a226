"""`tzerlike bisect`: the culprit pass."""

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
from tzerlike.findings.bisect.bundles import Bisected, bisect_bundles


@click.command()
@click.argument("bundles", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--diff", is_flag=True, help="Also print the TIR before and after the culprit pass.")
@tvm_option
@unconfined_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def bisect(bundles: tuple[Path, ...], diff: bool, tvm: str, unconfined: bool, as_json: bool) -> None:
    """Find the culprit pass of each bundle and what it changes; write both to bisect.json and report.md.

    BUNDLES are bundles, their ids, or campaigns.
    """

    def tell(result: Bisected) -> None:
        if as_json:
            return
        click.echo(result.line())
        found = result.bisection
        if found is not None and found.detail:
            click.echo(f"  {found.detail.splitlines()[0]}")
        if diff and found is not None and found.diff:
            click.echo(found.diff)

    with progress("bundles") as steps:
        results = bisect_bundles(named_bundles(bundles), partial(open_tvm, tvm, unconfined=unconfined), tell, steps)
    if as_json:
        click.echo(json.dumps([result.to_json() for result in results]))
    sys.exit(0 if all(result.bisection is not None for result in results) else 1)
