"""`tzerlike corpus`: listing, minimizing and merging corpora."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import click

from tzerlike.campaign.corpora.tools import Files, case_files, copy_cases, listed, minimised
from tzerlike.campaign.directory import CampaignDir
from tzerlike.cli.commands.shared import print_table, unconfined_option
from tzerlike.cli.progress import progress
from tzerlike.core.config import CampaignConfig
from tzerlike.core.errors import UserError
from tzerlike.core.untrusted import one_line
from tzerlike.processes.caller import open_client
from tzerlike.systems import TVM


@click.group()
def corpus() -> None:
    """List, minimize or merge the cases that campaigns keep."""


_DIRECTORY = click.Path(path_type=Path)


@corpus.command("list")
@click.argument("directory", type=_DIRECTORY)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def corpus_list(directory: Path, as_json: bool) -> None:
    """List the cases of a campaign, or of a directory of cases."""
    files = case_files(directory)
    rows = listed(files)
    if as_json:
        click.echo(json.dumps({"cases": rows, "problems": list(files.problems)}))
        return
    columns = ("id", "bytes", "passes", "pipeline", "origin", "mutator", "generation")
    print_table(columns, [{**row, "id": row["id"][:16]} for row in rows])
    click.echo(f"{len(rows)} cases, {sum(row['bytes'] for row in rows)} bytes")
    _tell(files)


@corpus.command("minimize")
@click.argument("directory", type=_DIRECTORY)
@click.option("--out", type=_DIRECTORY, default=None, help="Where to write the corpus; without it, only report.")
@unconfined_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def corpus_minimize(directory: Path, out: Path | None, unconfined: bool, as_json: bool) -> None:
    """Find a small set of cases with the same coverage; DIRECTORY itself is not changed."""
    if out is not None and out.resolve() == directory.resolve():
        raise UserError("--out: this is the directory itself, and cases left out would be lost; name another one")
    files = case_files(directory)
    opened = partial(open_client, unconfined=unconfined, system=_system_of(directory))
    with progress("cases") as steps:
        found = minimised(directory, files, opened, steps)
    if out is not None:
        copy_cases({case_id: files.paths[case_id] for case_id in found.kept}, out)
    if as_json:
        click.echo(json.dumps({**found.to_json(), "problems": list(files.problems)}))
    else:
        click.echo(f"{len(found.kept)} of {found.cases} cases, {found.bytes_after} of {found.bytes_before} bytes")
        lost = f"; {found.lost} of them were not reached again" if found.lost else ", all of them reached again"
        click.echo(f"{found.blocks} blocks{lost}")
        if found.refused:
            click.echo(f"{found.refused} cases no longer compile")
        _tell(files)
    sys.exit(1 if found.lost else 0)


@corpus.command("merge")
@click.argument("directories", type=_DIRECTORY, nargs=-1, required=True)
@click.option("--out", type=_DIRECTORY, required=True, help="A new campaign directory, or one to add to.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def corpus_merge(directories: tuple[Path, ...], out: Path, as_json: bool) -> None:
    """Merge the cases of several campaigns into one corpus."""
    everything = [case_files(directory) for directory in directories]
    paths = {case_id: path for files in everything for case_id, path in files.paths.items()}
    added = copy_cases(paths, out)
    if as_json:
        problems = [problem for files in everything for problem in files.problems]
        click.echo(json.dumps({"cases": len(paths), "added": added, "problems": problems}))
        return
    click.echo(f"{len(paths)} distinct cases of {sum(len(files.paths) for files in everything)}, {added} of them new")
    for files in everything:
        _tell(files)


def _system_of(directory: Path) -> str:
    """The campaign's compiler; TVM for a bare directory of cases."""
    config = CampaignDir(directory).config
    return CampaignConfig.from_toml(config).system if config.is_file() else TVM.name


def _tell(files: Files) -> None:
    for problem in files.problems[:20]:
        click.echo(f"left out: {one_line(problem)}", err=True)
