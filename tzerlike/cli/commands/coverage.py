"""`tzerlike coverage`: the parts of TVM's source that a campaign has reached."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Sequence
from functools import partial
from pathlib import Path

import click

from tzerlike.api import tvm_of
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.stats import read_stats
from tzerlike.cli.commands.shared import print_table
from tzerlike.core.config import CampaignConfig
from tzerlike.core.errors import UserError
from tzerlike.core.storage import write_output
from tzerlike.coverage.source.places import Places
from tzerlike.coverage.source.show import percent, ranges_text
from tzerlike.coverage.source.totals import BlockTally, Row
from tzerlike.processes.caller import open_client
from tzerlike.reporting.coverage_page import coverage_page
from tzerlike.reporting.source_coverage import CampaignCoverage, places_of, read_covered
from tzerlike.systems import choose

_TABLES: dict[str, Callable[[BlockTally], list[Row]]] = {
    "directory": BlockTally.directories,
    "file": BlockTally.files,
    "function": BlockTally.functions,
    "pass": BlockTally.passes,
}


@click.command()
@click.argument("campaign", type=click.Path(path_type=Path))
@click.option("--against", type=click.Path(path_type=Path), default=None, help="Another campaign to compare with.")
@click.option("--by", type=click.Choice([*_TABLES, "line"]), default="directory", show_default=True)
@click.option("--match", default="", help="Only names that contain this.")
@click.option("--html", "page_file", type=click.Path(path_type=Path), default=None, help="Write a self-contained page.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: all tables, lines included.")
def coverage(campaign: Path, against: Path | None, by: str, match: str, page_file: Path | None, as_json: bool) -> None:
    """Show which parts of TVM's source a campaign has reached, and which it has not."""
    covered = read_covered(campaign)
    other = None if against is None else read_covered(against)
    if other is not None and other.facts != covered.facts:
        raise UserError(f"--against: {against} ran on another TVM or with other coverage than {campaign}")
    tally = BlockTally(_places(covered), covered.reached, None if other is None else other.reached)
    if page_file is not None:
        write_output(page_file, _page(_title(campaign, against), tally, match, _tried(covered.directory)))
    if as_json:
        click.echo(json.dumps(_everything(covered, tally, match)))
    elif by == "line":
        _print_lines(tally, match)
    else:
        _print_rows(tally, by, match, _tried(covered.directory))


def _places(covered: CampaignCoverage) -> Places:
    config = CampaignConfig.from_toml(covered.directory.config)
    choose(config.system)
    cache, interpreter = tvm_of(config.tvm)
    opened = partial(open_client, interpreter=interpreter, unconfined=True, system=config.system)
    return places_of(covered, cache, lambda backend: opened(coverage=backend))


def _named(rows: Sequence[Row], match: str) -> list[Row]:
    return [row for row in rows if match in row.name]


def _everything(covered: CampaignCoverage, tally: BlockTally, match: str) -> dict[str, object]:
    return {
        "campaign": str(covered.directory.root),
        "backend": covered.facts[1],
        **tally.everything().to_json(),
        "tables": {by: [row.to_json() for row in _named(table(tally), match)] for by, table in _TABLES.items()},
        "unreached_lines": {name: found for name, found in tally.unreached_lines().items() if match in name},
        "lines_unlike": {
            name: {"unique": here, "missed": there}
            for name, (here, there) in tally.lines_unlike().items()
            if match in name
        },
    }


def _tried(directory: CampaignDir) -> frozenset[str]:
    """The passes that were in a sequence of the campaign's."""
    passes = read_stats(directory.stats).get("passes", {}) if directory.stats.is_file() else {}
    return frozenset(name for name, row in passes.items() if row["tried"])


def _print_rows(tally: BlockTally, by: str, match: str, tried: Container[str]) -> None:
    whole = tally.everything()
    rows = _named(_TABLES[by](tally), match)
    compared = tally.other is not None
    columns = ("name", "reached", "of", "share", *(("other", "only here", "only there") if compared else ()))
    print_table(
        columns,
        [
            {
                "name": row.name,
                "reached": row.covered,
                "of": row.total,
                "share": percent(row),
                "other": row.other,
                "only here": row.unique,
                "only there": row.missed,
            }
            for row in rows
        ],
    )
    click.echo(f"{whole.covered:,} of {whole.total:,} reached ({percent(whole)})")
    if compared:
        click.echo(f"{whole.unique:,} only here, {whole.missed:,} only there")
    never = [row.name for row in tally.passes() if not row.covered and row.name not in tried]
    if by == "pass" and never:
        click.echo(f"{len(never)} pass{'' if len(never) == 1 else 'es'} never reached: {', '.join(never)}")


def _print_lines(tally: BlockTally, match: str) -> None:
    if not tally.places.line.any():
        raise UserError(
            "--by line: the stock wheel has no line information; run the campaign on a TVM from `tzerlike tvm build`"
        )
    if tally.other is None:
        for name, ranges in sorted(tally.unreached_lines().items()):
            if match in name:
                click.echo(f"{name}: {ranges_text(ranges)}")
        return
    for name, (here, there) in sorted(tally.lines_unlike().items()):
        if match in name:
            for mark, lines in (("+", here), ("-", there)):
                if lines:
                    click.echo(f"{mark} {name}: {', '.join(map(str, lines))}")


def _title(campaign: Path, against: Path | None) -> str:
    compared = "" if against is None else f" compared with {against.resolve().name}"
    return f"Coverage of {campaign.resolve().name}{compared}"


def _page(title: str, tally: BlockTally, match: str, tried: frozenset[str]) -> str:
    return coverage_page(
        title,
        tally.everything(),
        tally.directories(),
        _named(tally.files(), match),
        tally.passes(),
        {name: ranges for name, ranges in tally.unreached_lines().items() if match in name},
        tried=tried,
    )
