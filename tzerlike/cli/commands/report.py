"""`tzerlike report`: a campaign, or the report of a bundle."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click

from tzerlike.cli.named import named
from tzerlike.cli.progress import progress
from tzerlike.core.errors import UserError
from tzerlike.core.storage import write_output
from tzerlike.findings.bundles.bundle import read_bundle
from tzerlike.findings.cases import harness_of
from tzerlike.findings.reduction import REDUCED, ROUGHLY
from tzerlike.findings.reduction.place import is_bundle, reduced_in
from tzerlike.findings.refresh import report_of
from tzerlike.reporting.overview import read_overview
from tzerlike.reporting.page import page
from tzerlike.reporting.text import summary


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--html", "html_file", type=click.Path(path_type=Path), help="Write a self-contained page.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def report(directory: Path, html_file: Path | None, as_json: bool) -> None:
    """Show a campaign, running or finished: coverage, speed, yields and findings.

    For a bundle or an id, print its report, with the reduced program and the culprit pass if they are known.
    """
    directory = named(directory)
    if is_bundle(directory):
        if html_file is not None:
            raise UserError(f"--html: {directory} is a bundle; a page needs a campaign")
        text = report_of(directory)
        click.echo(json.dumps({"bundle": str(directory), "report": text}) if as_json else text, nl=as_json)
        if lack := _lack(directory):
            click.echo(f"{lack}: tzerlike reduce {shlex.quote(str(directory))}", err=True)
        return
    with progress("findings") as steps:
        overview = read_overview(directory, steps)
    if html_file is not None:
        write_output(html_file, page(overview))
    if as_json:
        click.echo(json.dumps(overview.to_json()))
        return
    for line in summary(overview):
        click.echo(line)
    if html_file is not None:
        click.echo(f"page: {html_file}")


def _lack(bundle: Path) -> str:
    """What a bundle's program lacks before anybody should post it; "" where it is as small as it gets."""
    if bundle.name == REDUCED or not harness_of(bundle).has_cases:
        return ""
    smaller = reduced_in(bundle)
    if smaller is None:
        return "not reduced yet"
    return "only reduced roughly so far" if read_bundle(smaller).environment.get(ROUGHLY) else ""
