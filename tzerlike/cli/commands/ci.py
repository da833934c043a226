"""`tzerlike ci`: fuzzing as a check of a CI service.

Exit status: 0 nothing new, or all bundles as expected; 1 a new finding, or a bundle that is not; 2 usage or set-up;
130, 143, 129 after SIGINT, SIGTERM, SIGHUP, with everything saved.
"""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console

from tzerlike import api
from tzerlike.campaign.directory import CampaignDir
from tzerlike.cli.commands.fuzz import known_file
from tzerlike.cli.commands.shared import against_option, comma_separated, system_option, unconfined_option
from tzerlike.cli.named import named
from tzerlike.cli.progress import progress
from tzerlike.cli.screen import make_screen
from tzerlike.core.case import TIR
from tzerlike.core.config import DEFAULT_ORACLES, CampaignConfig, parse_duration, parse_size
from tzerlike.core.errors import UserError
from tzerlike.core.storage import json_text, make_directories, write_atomic
from tzerlike.core.untrusted import one_line
from tzerlike.findings.known import Known, read_known
from tzerlike.oracles import default_oracles, make_oracles
from tzerlike.plugins import harness_named
from tzerlike.processes.cores import usable_cores
from tzerlike.processes.signals import exit_status
from tzerlike.reporting.ci.campaign import judged_campaign
from tzerlike.reporting.ci.carry import Carry
from tzerlike.reporting.ci.earlier import make_room
from tzerlike.reporting.ci.expectation import EXPECTATIONS, SHOWS, judged_replay
from tzerlike.reporting.ci.files import write_files
from tzerlike.reporting.ci.outcome import CiOutcome
from tzerlike.systems import choose

PULL_REQUEST_SEED = 0
"""One seed for all pull requests, so that one is judged like the next."""

_Command = Callable[..., None]


@click.group()
def ci() -> None:
    """Fuzz in CI: exit status 1 only for new findings; JUnit XML, SARIF and a Markdown summary."""


def _campaign_options(budget: str) -> Callable[[_Command], _Command]:
    """The options that `batch` and `pr` share."""
    options = (
        click.option(
            "--carry",
            type=click.Path(path_type=Path),
            required=True,
            help="Directory with the carried corpus and findings.",
        ),
        click.option("--output", type=click.Path(path_type=Path), default=Path("tzerlike-ci"), show_default=True),
        click.option("--budget", default=budget, show_default=True, help="Time for the campaign."),
        click.option("--iterations", type=int, default=None, help="Stop after this many iterations."),
        click.option("--tvm", default="", help="A TVM from `tzerlike tvm list`.  [default: the installed TVM]"),
        system_option,
        click.option("--known", default="", help="known.toml, listing findings that are not new."),
        click.option("--harness", default=TIR, show_default=True, help="tir, graph, or plugin:name."),
        click.option("--oracles", default=None, show_default=",".join(DEFAULT_ORACLES), help="Comma-separated names."),
        click.option("--jobs", type=int, default=None, help="Worker processes.  [default: usable cores]"),
        click.option("--timeout", type=float, default=5.0, show_default=True, help="CPU seconds per case."),
        click.option("--memory-limit", default="2G", show_default=True, help="Memory limit of a case."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON instead of progress."),
    )

    def add(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


@ci.command()
@_campaign_options("1h")
@click.option("--seed", type=int, default=None, help="Seed of all randomness; random by default.")
def batch(carry: Path, seed: int | None, **options: Any) -> None:
    """Run a campaign on the carried corpus, and update that corpus.

    Carried cases are kept if they still compile and reach something that the others do not.
    """
    _run("batch", Carry(carry), "builtin", secrets.randbits(32) if seed is None else seed, **options)


@ci.command()
@_campaign_options("5m")
@click.option("--seed", type=int, default=PULL_REQUEST_SEED, show_default=True, help="Seed of all randomness.")
@against_option
def pr(carry: Path, seed: int, against: str, **options: Any) -> None:
    """Run a short campaign on the carried corpus without changing it.

    Without a carried corpus, it starts from the built-in seeds. With --against, only findings that the other TVM does
    not show are new, and if both have the same code, nothing runs.
    """
    state = Carry(carry)
    _run("pr", state, "none" if state.ids() else "builtin", seed, against, **options)


@ci.command()
@click.argument("dirs", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--expect", type=click.Choice(EXPECTATIONS), default=SHOWS, show_default=True)
@click.option("--times", type=click.IntRange(1, 1000), default=1, show_default=True, help="Runs of each bundle.")
@click.option("--output", type=click.Path(path_type=Path), default=Path("tzerlike-ci"), show_default=True)
@unconfined_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def replay(dirs: tuple[Path, ...], expect: str, times: int, output: Path, unconfined: bool, as_json: bool) -> None:
    """Replay bundles: each must still show its finding, or with --expect fixed, none may.

    DIRS are campaigns, directories of bundles, bundles, or their ids.
    """
    opened = partial(api.open_tvm, unconfined=unconfined)
    with progress("bundles") as steps:
        outcome = judged_replay([named(path) for path in dirs], times, expect, opened, steps)
    _conclude(outcome, output, as_json)


def _run(
    mode: str,
    carry: Carry,
    seeds: str,
    seed: int,
    against: str = "",
    *,
    output: Path,
    budget: str,
    iterations: int | None,
    tvm: str,
    system: str,
    known: str,
    harness: str,
    oracles: str | None,
    jobs: int | None,
    timeout: float,
    memory_limit: str,
    as_json: bool,
) -> None:
    """Run a campaign under `output`, judge it, and end with the status that this comes to."""
    choose(system)
    if not harness_named(harness).has_cases:
        raise UserError(f"--harness {harness}: has no corpus to carry")
    judges = default_oracles(harness) if oracles is None else comma_separated(oracles)
    make_oracles(judges, harness)
    entries = read_known(Path(known)) if known else Known()
    config = CampaignConfig(
        seed=seed,
        budget=parse_duration(budget),
        iterations=iterations,
        seeds=seeds,
        corpus=str(carry.corpus.resolve()) if carry.ids() else "",
        known=str(known_file(Path(known))) if known else "",
        tvm=tvm,
        system=system,
        oracles=judges,
        harness=harness,
        jobs=jobs if jobs is not None else usable_cores(),
        timeout=timeout,
        memory_limit=parse_size(memory_limit),
    )
    campaign = CampaignDir(output / "campaign")
    api.tvm_of(tvm)
    if mode == "batch":
        carry.create()
    make_directories("--output", output)
    differing = api.compare_builds(tvm, against) if against else None
    if differing is not None:
        if differing.same:
            nothing = CiOutcome(mode, (), 0.0, notes=(f"nothing to test against {against}: {differing}",))
            _conclude(nothing, output, as_json)
        if not as_json:
            click.echo(f"against {against}: {differing}")
    make_room(campaign)
    screen = make_screen("none" if as_json else "rich", Console())
    if not as_json:
        click.echo(
            f"campaign {campaign.root}, seed {config.seed}, {config.jobs} job{'s' * (config.jobs != 1)}, "
            f"{len(carry.ids())} pairs carried"
        )
    with screen:
        # What is carried is our own.
        done = api.fuzz(
            config,
            campaign.root,
            unconfined=True,
            focus=differing,
            show=screen.show,
            tell=screen.tell,
            wishes=screen.wishes,
        )
    compared = None
    if against and not done.stopped_by:
        with progress("bundles") as steps:
            compared = api.judge_against([*campaign.bundles()], tvm, against, steps)
        write_atomic(campaign.against, json_text(compared.to_json()))
    outcome = judged_campaign(mode, campaign, carry, entries, done.stats, compared)
    if mode == "batch":
        carry.take_corpus(campaign, config.jobs)
        carry.take_bundles(campaign.bundles())
    _conclude(outcome, output, as_json, done.stopped_by)


def _conclude(outcome: CiOutcome, output: Path, as_json: bool, stopped_by: int = 0) -> NoReturn:
    write_files(outcome, output)
    if as_json:
        click.echo(json.dumps(outcome.to_json()))
    else:
        for item in outcome.failing:
            click.echo(f"{item.status.value}: {one_line(item.title, 200)}")
            click.echo(f"  {item.path}" + (f"  ({one_line(item.detail)})" if item.detail else ""))
        for note in outcome.notes:
            click.echo(f"note: {one_line(note)}")
        click.echo(f"{outcome.verdict}; written: {output}")
    sys.exit(exit_status(stopped_by) if stopped_by else 1 if outcome.failing else 0)
