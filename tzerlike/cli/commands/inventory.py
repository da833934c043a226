"""`tzerlike seeds`, `mutators` and `passes`: lists of what is available."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from tzerlike.campaign.directory import existing
from tzerlike.campaign.stats import read_stats
from tzerlike.cli.commands.shared import print_table, system_option
from tzerlike.processes.caller import cache_directory
from tzerlike.systems import choose


@click.group()
def seeds() -> None:
    """List the programs that a campaign starts from."""


@seeds.command("list")
@system_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def seeds_list(system: str, as_json: bool) -> None:
    """List the built-in seeds: name, origin, target, size in IR nodes."""
    choose(system)
    from tzerlike.tir.seeds import builtin_seeds

    rows = [
        {"name": seed.name, "origin": seed.origin, "target": seed.target, "nodes": seed.nodes}
        for seed in builtin_seeds(cache_directory())
    ]
    if as_json:
        click.echo(json.dumps(rows))
        return
    print_table(("name", "origin", "target", "nodes"), rows)
    click.echo(f"{len(rows)} seeds")


@click.group()
def mutators() -> None:
    """List the mutators, which change programs."""


@mutators.command("list")
@click.option("--campaign", type=click.Path(path_type=Path), default=None, help="Show the yields of a campaign.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def mutators_list(campaign: Path | None, as_json: bool) -> None:
    """List the mutators, with their yields in a campaign."""
    yields = _yields("mutators", campaign)
    from tzerlike.mutators import MUTATORS

    _print_yields([{"name": name} for name in sorted(MUTATORS)], yields, as_json)


@click.group()
def passes() -> None:
    """List the passes that sequences are made of."""


@passes.command("list")
@system_option
@click.option("--campaign", type=click.Path(path_type=Path), default=None, help="Show the yields of a campaign.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def passes_list(system: str, campaign: Path | None, as_json: bool) -> None:
    """List the passes of the installed TVM: arguments, preconditions, and the yields of a campaign."""
    yields = _yields("passes", campaign)
    choose(system)
    from tzerlike.passes.catalog import discover
    from tzerlike.passes.preconditions import rule_of

    rows: list[dict[str, Any]] = []
    for info in discover():
        rule = rule_of(info.name)
        rows.append(
            {
                "name": info.name,
                "arguments": {p.name: list(p.domain) for p in info.parameters},
                "options": list(info.options),
                "needs": sorted(rule.needs),
                "forbids": sorted(rule.forbids),
                "clashes": [" with ".join(sorted(clash)) for clash in rule.clashes],
                "adds": sorted(rule.adds),
                "removes": sorted(rule.removes),
                "source": rule.source,
            }
        )
    if yields is not None or as_json:
        _print_yields(rows, yields, as_json)
        return
    for row in rows:
        click.echo(row["name"])
        for key, domain in row["arguments"].items():
            click.echo(f"    {key} = {' | '.join(json.dumps(value) for value in domain)}")
        for word in ("needs", "forbids", "clashes", "adds", "removes", "options"):
            if row[word]:
                click.echo(f"    {word} {', '.join(row[word])}")


def _yields(table: str, campaign: Path | None) -> Mapping[str, Any] | None:
    """The counters of a campaign by name; None without one. What is wrong is said before anything is loaded."""
    return None if campaign is None else read_stats(existing(campaign).stats)[table]


def _print_yields(rows: list[dict[str, Any]], yields: Mapping[str, Any] | None, as_json: bool) -> None:
    """Print rows that have a name, with that name's counters if there are any."""
    if yields is not None:
        rows = [{**row, **yields.get(row["name"], {})} for row in rows]
    if as_json:
        click.echo(json.dumps(rows))
    elif yields is None:
        for row in rows:
            click.echo(row["name"])
    else:
        print_table(("name", "tried", "valid", "valuable"), rows)
