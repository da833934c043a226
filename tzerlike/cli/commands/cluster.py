"""`tzerlike cluster`: the machines of a campaign."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from tzerlike.campaign.books import Books
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.machines import Machine, machines
from tzerlike.campaign.remote import fetch, is_uri
from tzerlike.campaign.state import WorkerState
from tzerlike.cli.commands.shared import print_table
from tzerlike.core.config import CampaignConfig
from tzerlike.core.errors import UserError

_SILENT = 60.0
"""Seconds without a word after which a machine counts as silent."""


@click.group()
def cluster() -> None:
    """Manage campaigns that run on several machines."""


@cluster.command("status")
@click.argument("campaign", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def cluster_status(campaign: Path, as_json: bool) -> None:
    """Show what each machine of CAMPAIGN has done, and when it was last heard of."""
    directory = CampaignDir(campaign)
    config = CampaignConfig.from_toml(directory.config)
    states = {state.worker: state for state in Books(directory).states()}
    known = {machine.node: machine for machine in machines(directory)}
    rows = []
    for node in range(config.nodes):
        numbers = range(node * config.jobs, (node + 1) * config.jobs)
        its = [states[number] for number in numbers if number in states]
        rows.append(_row(f"{node + 1}/{config.nodes}", known.get(node), its))
    if as_json:
        click.echo(json.dumps(rows))
    else:
        print_table(("part", "machine", "last word", "iterations", "per s", "findings", "faults", "restarts"), rows)


@cluster.command("fetch")
@click.argument("uri")
@click.argument("directory", type=click.Path(path_type=Path))
def cluster_fetch(uri: str, directory: Path) -> None:
    """Copy the campaign at URI to a new DIRECTORY, for the other commands."""
    if not is_uri(uri):
        raise UserError(f"{uri}: not a URI like s3://bucket/campaign")
    fetch(uri, directory)
    click.echo(f"{directory}: {len(CampaignDir(directory).corpus_ids())} cases")


def _row(part: str, machine: Machine | None, states: list[WorkerState]) -> dict[str, object]:
    ago = None if machine is None else max(0.0, time.time() - machine.time)
    iterations = sum(state.iterations for state in states)
    elapsed = max((state.elapsed for state in states), default=0.0)
    return {
        "part": part,
        "machine": "" if machine is None else machine.host,
        "last word": "never" if ago is None else f"{ago:.0f} s ago{', silent' if ago > _SILENT else ''}",
        "iterations": iterations,
        "per s": round(iterations / elapsed, 1) if elapsed else 0.0,
        "findings": sum(sum(state.findings.values()) for state in states),
        "faults": sum(sum(state.faults.values()) for state in states),
        "restarts": 0 if machine is None else sum(machine.restarts.values()),
    }
