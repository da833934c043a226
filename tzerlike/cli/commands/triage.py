"""`tzerlike triage`: findings of campaigns, grouped by bug."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click

from tzerlike.cli.named import named
from tzerlike.cli.progress import progress
from tzerlike.core.units import duration
from tzerlike.core.untrusted import one_line
from tzerlike.findings.known import Known, read_known
from tzerlike.reporting.triage.groups import Group, Triage
from tzerlike.reporting.triage.groups import triage as gather
from tzerlike.reporting.triage.sightings import collect


@click.command()
@click.argument("dirs", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option(
    "--known",
    "known_file",
    type=click.Path(path_type=Path),
    default=None,
    help="known.toml, listing findings to hide.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, known groups included.")
def triage(dirs: tuple[Path, ...], known_file: Path | None, as_json: bool) -> None:
    """Group the bundles of campaigns by bug.

    DIRS are campaigns, directories of bundles, bundles, or their ids; their order does not matter.
    """
    known = read_known(known_file) if known_file is not None else Known()
    with progress("bundles") as steps:
        found = gather(collect(map(named, dirs), steps), known)
    if as_json:
        click.echo(json.dumps(found.to_json()))
    else:
        for line in report_lines(found):
            click.echo(line)


def report_lines(found: Triage) -> Iterator[str]:
    """The triage as text: a block for each group that is new, and what there is to say of the known."""
    for group in found.new:
        yield from _block(group)
    yield _totals(found)
    for group in found.groups:
        if group.known is not None:
            count = _count(len(group.members), "bundle")
            yield f"known: {group.known.label} ({count}, {group.known.link}) {one_line(group.title, 100)}"
    for label, seen in found.hidden:
        yield f"known: {one_line(label, 100)} (seen {_count(seen, 'time')}, not bundled)"
    for entry in found.silent:
        yield f"no longer shows: {entry.label} ({entry.link})"
    for problem in found.problems:
        yield f"left out: {one_line(problem)}"


def _block(group: Group) -> Iterator[str]:
    first = "" if group.first_seen is None else f", first seen after {duration(group.first_seen)}"
    facts = f"{_count(len(group.members), 'bundle')}, {_count(len(group.signatures), 'signature')}{first}"
    yield one_line(group.title, 200)
    yield f"  {facts}, shown again in {group.same} of {group.runs} runs"
    if len(group.signatures) > 1 and group.cause is not None:
        yield f"  one cause: {one_line(str(group.cause), 200)}"
    yield f"  {group.representative.path}"
    yield ""


def _totals(found: Triage) -> str:
    bundles = sum(len(group.members) for group in found.groups)
    signatures = sum(len(group.signatures) for group in found.groups)
    groups = len(found.groups)
    known = groups - len(found.new)
    return (
        f"{_count(bundles, 'bundle')}, {_count(signatures, 'signature')}, {_count(groups, 'group')}: "
        f"{len(found.new)} new, {known} known"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
