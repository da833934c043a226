"""The command line: the only reader of arguments and environment variables.

Exit status: 0 done, 1 a finding (run) or one that did not show (replay), 2 usage or set-up error with one
line, 3 flaky (replay), 130 after Ctrl-C with everything saved.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import psutil
from click.core import ParameterSource
from rich.console import Console
from rich.table import Table

from tzerlike import __version__
from tzerlike.campaign import CampaignDir, read_json
from tzerlike.config import (
    COVERAGE,
    HARNESSES,
    MUTATOR_CHOICES,
    PASS_MODES,
    TARGETS,
    UIS,
    CampaignConfig,
    parse_duration,
    parse_size,
)
from tzerlike.doctor import examine
from tzerlike.errors import TzerlikeError, UserError
from tzerlike.family import Family
from tzerlike.replay import judge_file, replay_bundles
from tzerlike.supervisor import Supervisor, resolve
from tzerlike.ui import make_screen

INTERRUPTED = 130

JUDGES = "crash,inconsistency,internal-error"
"""The oracles of `tzerlike run`: all that a single run of a case can satisfy."""

_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR", "CUDA_HOME", "CUDA_PATH")


def zygote_environment() -> dict[str, str]:
    """Return the environment of every process that runs TVM: fixed but for what locates programs."""
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment |= {
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "TVM_NUM_THREADS": "2",
    }
    return environment


def cache_directory() -> Path:
    """Return the directory for what can be made again, made if need be; UserError when it cannot be."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    path = Path(base) / "tzerlike"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; set XDG_CACHE_HOME to a directory that can be written") from error
    return path


def open_family(slots: int = 1, coverage: str = "none") -> Family:
    return Family(slots=slots, coverage=coverage, cache_dir=cache_directory(), environment=zygote_environment())


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="tzerlike")
def cli() -> None:
    """Find bugs in TVM's tensor-level compiler."""


@cli.command()
@click.option("--budget", default="4h", show_default=True, help="Time for the whole campaign: 90s, 30m, 4h, 1h30m.")
@click.option("--iterations", type=int, default=None, help="Stop after so many pairs.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("campaign"), show_default=True, help="Directory.")
@click.option("--resume", is_flag=True, help="Go on with the campaign in --out; it keeps its own options.")
@click.option("--seed", type=int, default=None, help="Root of all randomness; random when not given, 0 is a seed.")
@click.option("--target", type=click.Choice(TARGETS), default="llvm", show_default=True)
@click.option("--coverage", type=click.Choice(COVERAGE), default="auto", show_default=True)
@click.option("--seeds", default="builtin", show_default=True, help="builtin, none, or a directory.")
@click.option("--n-max", type=int, default=4, show_default=True, help="IR mutations in vain before passes are mutated.")
@click.option("--mutators", default="", help="Comma-separated names; all when not given.")
@click.option("--plugin", "plugins", multiple=True, help="Installed plug-in whose mutators to draw too; repeatable.")
@click.option("--mutator-choice", type=click.Choice(MUTATOR_CHOICES), default="adaptive", show_default=True)
@click.option("--pass-mode", type=click.Choice(PASS_MODES), default="joint", show_default=True)
@click.option("--oracles", default="crash", show_default=True, help="Comma-separated names.")
@click.option("--jobs", type=int, default=None, help="Worker processes.  [default: physical cores]")
@click.option("--timeout", type=float, default=5.0, show_default=True, help="Seconds of processor time a case.")
@click.option("--memory-limit", default="2G", show_default=True, help="Memory a case may allocate.")
@click.option("--pairs-per-fork", type=int, default=1, show_default=True, help="Cases that one child takes in turn.")
@click.option(
    "--harness",
    type=click.Choice(HARNESSES),
    default="tir",
    show_default=True,
    help="tir: programs and passes; arith: TVM's arithmetic analyzer alone, on random integer expressions.",
)
@click.option("--ui", type=click.Choice(UIS), default="rich", show_default=True)
def fuzz(
    budget: str,
    iterations: int | None,
    out: Path,
    resume: bool,
    seed: int | None,
    target: str,
    coverage: str,
    seeds: str,
    n_max: int,
    mutators: str,
    plugins: tuple[str, ...],
    mutator_choice: str,
    pass_mode: str,
    oracles: str,
    jobs: int | None,
    timeout: float,
    memory_limit: str,
    pairs_per_fork: int,
    harness: str,
    ui: str,
) -> None:
    """Run a coverage-guided campaign."""
    from tzerlike.oracles import make_oracles

    if harness == "arith":
        _refuse_options_of_tir()
        coverage = "none"
    config = CampaignConfig(
        seed=secrets.randbits(32) if seed is None else seed,
        budget=parse_duration(budget),
        iterations=iterations,
        target=target,
        coverage=coverage,
        seeds=seeds if seeds in ("builtin", "none") else str(_existing_directory(seeds)),
        n_max=n_max,
        mutators=_names(mutators),
        plugins=plugins,
        mutator_choice=mutator_choice,
        pass_mode=pass_mode,
        oracles=_names(oracles),
        jobs=jobs if jobs is not None else psutil.cpu_count(logical=False) or 1,
        timeout=timeout,
        memory_limit=parse_size(memory_limit),
        pairs_per_fork=pairs_per_fork,
        harness=harness,
    )
    make_oracles(config.oracles)
    directory = CampaignDir(out)
    config = resolve(config, directory, resume=resume, given=_given())
    console = Console(stderr=False)
    screen = make_screen(ui, console)
    if ui != "none":
        console.print(f"campaign {out}, seed {config.seed}, {config.jobs} jobs", highlight=False)
    with screen:
        supervisor = Supervisor(
            config,
            directory,
            cache_directory(),
            zygote_environment(),
            show=screen.show,
            tell=screen.tell,
            resume=resume,
        )
        stats, interrupted = supervisor.run()
    if ui != "none":
        _print_summary(console, directory, stats)
    if interrupted:
        if ui != "none":
            console.print(f"interrupted; everything is saved, go on with: tzerlike fuzz --out {out} --resume")
        sys.exit(INTERRUPTED)


_TIR_ONLY = (
    "target",
    "coverage",
    "seeds",
    "n_max",
    "mutators",
    "mutator_choice",
    "pass_mode",
    "oracles",
    "pairs_per_fork",
)
"""Options of `fuzz` that say nothing to the arithmetic harness."""


def _given() -> frozenset[str]:
    """The options that stand on the command line, by the names of their parameters."""
    context = click.get_current_context()
    return frozenset(
        name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    )


def _refuse_options_of_tir() -> None:
    given = _given()
    for name in _TIR_ONLY:
        if name in given:
            option = "--" + name.replace("_", "-")
            raise UserError(f"{option}: has no meaning with --harness arith, which has neither programs nor passes")


def _existing_directory(text: str) -> Path:
    path = Path(text)
    if not path.is_dir():
        raise UserError(f"--seeds: {text!r} is neither builtin, none nor a directory")
    return path.resolve()


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _print_summary(console: Console, directory: CampaignDir, stats: Mapping[str, Any]) -> None:
    from tzerlike.ui import one_line

    console.print(one_line(stats), highlight=False, soft_wrap=True)
    for problem in stats["problems"]:
        console.print(f"problem: {problem}", highlight=False, markup=False, soft_wrap=True)
    bundles = list(directory.bundles())
    for path in bundles:
        console.print(f"  {path}", highlight=False, markup=False, soft_wrap=True)
    if bundles:
        console.print(f"see one again: tzerlike replay {bundles[0]}", highlight=False, markup=False, soft_wrap=True)


@cli.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--passes", default="", help="Sequence: 'tirx.UnrollLoop; tirx.NarrowDataType{target_bits=32}'.")
@click.option("--function", default=None, help="Function of a module; main or the only one when not given.")
@click.option("--target", type=click.Choice(TARGETS), default="llvm", show_default=True)
@click.option("--oracles", default=JUDGES, show_default=True, help="Comma-separated names; performance is another.")
@click.option("--input-seed", type=int, default=0, show_default=True)
@click.option("--timeout", type=float, default=5.0, show_default=True, help="Seconds of processor time.")
@click.option("--memory-limit", default="2G", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def run(
    file: Path,
    passes: str,
    function: str | None,
    target: str,
    oracles: str,
    input_seed: int,
    timeout: float,
    memory_limit: str,
    as_json: bool,
) -> None:
    """Judge one case: a case.json, or a TVMScript file of yours."""
    verdict = judge_file(
        file,
        open_family,
        passes=passes,
        function=function,
        target=target,
        oracles=_names(oracles),
        input_seed=input_seed,
        seconds=timeout,
        memory=parse_size(memory_limit),
    )
    if as_json:
        click.echo(json.dumps(verdict))
    else:
        message = f": {verdict['message']}" if verdict["message"] else ""
        click.echo(f"{verdict['exit']} in {verdict['stage']}{message}")
        reference = verdict["reference"]
        click.echo("reference: " + ", ".join(text for text in reference.values() if text))
        if finding := verdict["finding"]:
            blame = f", blame: {finding['blame']}" if finding["blame"] else ""
            click.echo(f"finding: {finding['kind']} {finding['signature']}{blame}")
    sys.exit(1 if verdict["finding"] else 0)


@cli.command()
@click.argument("bundles", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--times", type=click.IntRange(1, 1000), default=1, show_default=True, help="Runs of each bundle.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def replay(bundles: tuple[Path, ...], times: int, as_json: bool) -> None:
    """Run bundles again in a fresh process and compare signatures."""
    results = replay_bundles(bundles, times, open_family)
    if as_json:
        click.echo(json.dumps([result.to_json() for result in results]))
    else:
        for result in results:
            click.echo(result.line())
    if any(0 < result.same < result.times for result in results):
        sys.exit(3)
    sys.exit(0 if all(result.same == result.times for result in results) else 1)


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(as_json: bool) -> None:
    """Say what works on this machine and what to do about the rest."""
    checks = examine(cache_directory(), zygote_environment())
    if as_json:
        click.echo(json.dumps([check.to_json() for check in checks]))
    else:
        for check in checks:
            click.echo(check.line())
    sys.exit(0 if all(check.good or not check.needed for check in checks) else 2)


@cli.group()
def seeds() -> None:
    """The programs that a campaign starts from."""


@seeds.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def seeds_list(as_json: bool) -> None:
    """List the built-in seeds: name, origin, target, size in IR nodes."""
    from tzerlike.seedgen import builtin_seeds

    rows = [
        {"name": seed.name, "origin": seed.origin, "target": seed.target, "nodes": seed.nodes}
        for seed in builtin_seeds(cache_directory())
    ]
    if as_json:
        click.echo(json.dumps(rows))
        return
    _print_table(("name", "origin", "target", "nodes"), rows)
    click.echo(f"{len(rows)} seeds")


@cli.group()
def mutators() -> None:
    """What changes programs."""


@mutators.command("list")
@click.option("--campaign", type=click.Path(path_type=Path), default=None, help="Show the yields of a campaign.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def mutators_list(campaign: Path | None, as_json: bool) -> None:
    """List the mutators, with their yields in a campaign."""
    from tzerlike.mutators import MUTATORS

    _print_yields("mutators", [{"name": name} for name in sorted(MUTATORS)], campaign, as_json)


@cli.group()
def passes() -> None:
    """The passes that sequences are made of."""


@passes.command("list")
@click.option("--campaign", type=click.Path(path_type=Path), default=None, help="Show the yields of a campaign.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def passes_list(campaign: Path | None, as_json: bool) -> None:
    """List the passes of the installed TVM: arguments, preconditions, and the yields of a campaign."""
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
    if campaign is not None or as_json:
        _print_yields("passes", rows, campaign, as_json)
        return
    for row in rows:
        click.echo(row["name"])
        for key, domain in row["arguments"].items():
            click.echo(f"    {key} = {' | '.join(json.dumps(value) for value in domain)}")
        for word in ("needs", "forbids", "clashes", "adds", "removes", "options"):
            if row[word]:
                click.echo(f"    {word} {', '.join(row[word])}")


def _print_yields(table: str, rows: list[dict[str, Any]], campaign: Path | None, as_json: bool) -> None:
    """Print rows that have a name, with that name's counters in a campaign if one is given."""
    if campaign is not None:
        yields: Mapping[str, Any] = read_json(CampaignDir(campaign).stats)[table]
        rows = [{**row, **yields.get(row["name"], {})} for row in rows]
    if as_json:
        click.echo(json.dumps(rows))
    elif campaign is None:
        for row in rows:
            click.echo(row["name"])
    else:
        _print_table(("name", "tried", "valid", "valuable"), rows)


def _print_table(columns: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    table = Table(box=None, padding=(0, 1))
    for column in columns:
        numeric = bool(rows) and isinstance(rows[0].get(column, 0), int)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(str(row.get(column, "")) for column in columns))
    Console().print(table)


def main() -> None:
    """Entry point: one line and status 2 for what the user can mend, a traceback for a fault of ours."""
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        click.echo(f"tzerlike: {error.format_message()}", err=True)
        sys.exit(2)
    except UserError as error:
        click.echo(f"tzerlike: {error}", err=True)
        sys.exit(2)
    except TzerlikeError as error:
        click.echo(f"tzerlike: internal error, please report it: {error}", err=True)
        sys.exit(70)
    except (KeyboardInterrupt, click.Abort):
        click.echo("tzerlike: interrupted", err=True)
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
