"""`tzerlike fuzz`: a campaign."""

from __future__ import annotations

import contextlib
import secrets
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.console import Console

from tzerlike import api
from tzerlike.campaign.corpora.carried import corpus_directory
from tzerlike.campaign.directory import CampaignDir, signature_in_name
from tzerlike.campaign.remote import is_uri, working_directory
from tzerlike.campaign.shard import Part
from tzerlike.campaign.supervisor import resolve
from tzerlike.cli.commands.ending import ending
from tzerlike.cli.commands.shared import against_option, comma_separated, system_option, tvm_option, unconfined_option
from tzerlike.cli.grouped import Grouped
from tzerlike.cli.progress import progress
from tzerlike.cli.screen import make_screen, print_line, stats_line
from tzerlike.core.case import TIR
from tzerlike.core.config import (
    CHOICES,
    COVERAGE,
    DEFAULT_ORACLES,
    ENTRY_CHOICES,
    FEEDBACK,
    PASS_MODES,
    TARGETS,
    UIS,
    CampaignConfig,
    parse_duration,
    parse_size,
)
from tzerlike.core.errors import UserError
from tzerlike.core.storage import json_text, write_atomic
from tzerlike.core.targets import DEFAULT_ARCH
from tzerlike.findings.faults.book import tally, warning
from tzerlike.findings.known import read_known
from tzerlike.oracles import default_oracles, missing_for, owns_oracles
from tzerlike.plugins import harness_named
from tzerlike.processes.caller import cache_directory
from tzerlike.processes.cores import usable_cores
from tzerlike.processes.signals import exit_status
from tzerlike.systems import system_named

_GROUPS = {
    "Budget and output": ("budget", "iterations", "out", "resume", "jobs"),
    "Several machines": ("cluster", "nodes", "shard"),
    "What is tested": ("system", "tvm", "against", "target", "arch", "harness", "oracles", "known"),
    "Programs": (
        "seed",
        "seeds",
        "corpus",
        "mutators",
        "plugins",
        "mutator_choice",
        "entry_choice",
        "n_max",
        "feedback",
    ),
    "Running a case": ("pass_mode", "coverage", "timeout", "memory_limit", "pairs_per_fork", "unconfined"),
    "Display": ("ui", "quiet", "verbose"),
}


@click.command(cls=Grouped, groups=_GROUPS)
@click.option("--budget", default="4h", show_default=True, help="Total time: 90s or 90, 30m, 4h, 1h30m.")
@click.option("--iterations", type=int, default=None, help="Stop after this many iterations.")
@click.option(
    "--out",
    "-o",
    default="campaign",
    show_default=True,
    help="Directory, or an fsspec URI (s3://, gs://, file://, ...).",
)
@click.option("--resume", is_flag=True, help="Continue the campaign in --out, with its own options.")
@click.option("--seed", "-s", type=int, default=None, help="Seed of all randomness; random by default.")
@tvm_option
@against_option
@system_option
@click.option("--target", type=click.Choice(TARGETS), default="llvm", show_default=True, help="Target to compile for.")
@click.option("--arch", default=DEFAULT_ARCH, show_default=True, help="GPU architecture, with --target cuda.")
@click.option("--coverage", type=click.Choice(COVERAGE), default="auto", show_default=True, help="Coverage backend.")
@click.option(
    "--seeds",
    default="builtin",
    show_default=True,
    help="builtin, graph (lowered random models), tiles (TileLang's kernels), none, or a directory.",
)
@click.option("--corpus", default="", help="Campaign or corpus whose pairs are run first.")
@click.option("--known", default="", help="known.toml, listing findings to count but not to bundle; see triage.")
@click.option(
    "--n-max", type=int, default=4, show_default=True, help="Fruitless IR mutations before passes are mutated."
)
@click.option("--mutators", default="", help="Comma-separated names; all by default.")
@click.option("--plugin", "plugins", multiple=True, help="Installed plug-in whose mutators are also used; repeatable.")
@click.option(
    "--mutator-choice",
    type=click.Choice(CHOICES),
    default="adaptive",
    show_default=True,
    help="Prefer productive mutators, or draw all equally often.",
)
@click.option(
    "--entry-choice",
    type=click.Choice(ENTRY_CHOICES),
    default="auto",
    show_default=True,
    help="Prefer small corpus entries whose mutations have found something, or draw all equally often; auto: the "
    "former for models, the latter for programs.",
)
@click.option(
    "--pass-mode",
    type=click.Choice(PASS_MODES),
    default="joint",
    show_default=True,
    help="joint: mutate passes with programs; random: draw new ones each time; none: only the default "
    "pipeline; paper: Algorithm 1 of the Tzer paper.",
)
@click.option(
    "--feedback",
    type=click.Choice(FEEDBACK),
    default="coverage",
    show_default=True,
    help="How pairs are chosen for further mutation; none: mutate only seeds, and only count coverage.",
)
@click.option("--oracles", default=None, show_default=",".join(DEFAULT_ORACLES), help="Comma-separated names.")
@click.option(
    "--jobs",
    "--jobs-per-node",
    "-j",
    "jobs",
    type=int,
    default=None,
    help="Worker processes on each machine.  [default: usable cores]",
)
@click.option(
    "--cluster", default="", help="Ray cluster to run on: auto for the one this machine is in, or [ray://]HOST:PORT."
)
@click.option(
    "--nodes",
    type=int,
    default=1,
    show_default=True,
    help="Number of machines, each with --jobs workers.",
)
@click.option(
    "--shard",
    default="1/1",
    show_default=True,
    help="Shard of this machine, such as 2/4; all machines take the same options and share --out.",
)
@click.option("--timeout", type=float, default=5.0, show_default=True, help="CPU seconds per case.")
@click.option("--memory-limit", default="2G", show_default=True, help="Memory limit of a case.")
@click.option("--pairs-per-fork", type=int, default=16, show_default=True, help="Cases per child process at most.")
@click.option(
    "--harness",
    default=TIR,
    show_default=True,
    help="tir: programs and passes; graph: whole models and Relax passes; arith: only TVM's arithmetic "
    "analyzer, on random integer expressions; or plugin:name.",
)
@unconfined_option
@click.option(
    "--ui", type=click.Choice(UIS), default="rich", show_default=True, help="Live screen, plain lines, or nothing."
)
@click.option("--quiet", "-q", is_flag=True, help="Same as --ui none.")
@click.option("--verbose", "-v", is_flag=True, help="Same as --ui plain: one line per event.")
def fuzz(
    out: str,
    resume: bool,
    against: str,
    cluster: str,
    shard: str,
    unconfined: bool,
    ui: str,
    quiet: bool,
    verbose: bool,
    **campaign: Any,
) -> None:
    """Run a coverage-guided campaign."""
    ui = "none" if quiet else "plain" if verbose else ui
    given = _given()
    config, left_out = _configured(campaign, given)
    part = _part(config, shard, cluster, given)
    if not part.alone and is_uri(out):
        raise UserError("--out: --shard needs a directory that all machines see, not a URI")
    config = replace(config, nodes=config.nodes if cluster else part.nodes)
    console = Console(stderr=False)
    screen = make_screen(ui, console)
    with _working_directory(out, screen.tell) as root:
        directory = CampaignDir(root)
        given |= {"nodes"} if "shard" in given else set()
        config = resolve(config, directory, resume=resume, given=given, alone=bool(cluster))
        if config.nodes > part.nodes and not cluster:
            raise UserError(f"--shard: {out} is a campaign of {config.nodes} shards; say which one this is")
        api.tvm_of(config.tvm)  # a build that is missing is reported before anything is shown
        if ui != "none":
            print_line(console, f"campaign {out}, seed {config.seed}, {config.jobs} job{'s' * (config.jobs != 1)}")
            for name, why in left_out.items():
                print_line(console, f"without the oracle {name}: {why}")
        differing = api.compare_builds(config.tvm, against) if against else None
        if differing is not None:
            if ui != "none":
                print_line(console, f"{'nothing to test ' * differing.same}against {against}: {differing}")
            if differing.same:
                return
        how: dict[str, Any] = {"show": screen.show, "tell": screen.tell, "focus": differing}
        with screen:
            if cluster:
                done = api.fuzz_on_cluster(config, root, cluster, **how)
            else:
                how |= {"resume": resume, "node": part.node, "unconfined": unconfined}
                done = api.fuzz(config, root, wishes=screen.wishes, **how)
        compared = _compared(directory, config.tvm, against) if against and not done.stopped_by else []
        if ui != "none":
            for line in (*_summary(directory, done.stats, out), *compared):
                print_line(console, line)
    if done.stopped_by:
        if ui != "none":
            where = f" --cluster {cluster}" if cluster else "" if part.alone else f" --shard {shard}"
            go_on = f"tzerlike fuzz --out {shlex.quote(out)} --resume{where}"
            print_line(console, f"interrupted; everything is saved, continue with: {go_on}")
        sys.exit(exit_status(done.stopped_by))


def _compared(directory: CampaignDir, tvm: str, against: str) -> list[str]:
    """Have the findings judged on the other TVM, keep what came of it, and return it in lines."""
    with progress("bundles") as steps:
        found = api.judge_against([*directory.bundles()], tvm, against, steps)
    write_atomic(directory.against, json_text(found.to_json()))
    return ["", str(found), *(f"  here alone  {signature_in_name(path)}" for path in found.here_alone)]


@contextlib.contextmanager
def _working_directory(out: str, tell: Callable[[str], None]) -> Iterator[Path]:
    """The directory to work in: `out` itself, or a copy of what is kept at that URI."""
    if is_uri(out):
        with working_directory(out, cache_directory(), tell) as root:
            yield root
    else:
        yield Path(out)


def _configured(options: Mapping[str, Any], given: frozenset[str]) -> tuple[CampaignConfig, dict[str, str]]:
    """The campaign that the options describe, and the default oracles that its TVM has nothing for, with the reason."""
    harness, seeds, jobs, seed = (options[name] for name in ("harness", "seeds", "jobs", "seed"))
    has_cases = harness_named(harness).has_cases
    if not has_cases:
        _refuse_options_of_cases(harness, comma_separated(options["oracles"] or ""), given)
    oracles, left_out = _oracles(harness, options["oracles"], options["tvm"])
    read = {
        "seed": secrets.randbits(32) if seed is None else seed,
        "budget": parse_duration(options["budget"]),
        "coverage": options["coverage"] if has_cases else "none",
        "seeds": seeds if seeds in _NAMED_SEEDS else str(_existing_directory(seeds)),
        "corpus": str(corpus_directory(Path(options["corpus"]))) if options["corpus"] else "",
        "known": str(known_file(Path(options["known"]))) if options["known"] else "",
        "mutators": comma_separated(options["mutators"]),
        "oracles": oracles,
        "jobs": jobs if jobs is not None else usable_cores(),
        "memory_limit": parse_size(options["memory_limit"]),
    }
    config = CampaignConfig(**{**options, **read})
    system_named(config.system)
    return config, left_out


def _part(config: CampaignConfig, shard: str, cluster: str, given: frozenset[str]) -> Part:
    """Which of several machines this is; on a cluster none of them."""
    if (cluster and "shard" in given) or (not cluster and "nodes" in given):
        raise UserError("--nodes is for campaigns with --cluster, and --shard for those without")
    return Part.of_text(shard, config.jobs)


def _oracles(harness: str, wanted: str | None, tvm: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """The oracles of a campaign, and the default ones that the TVM in question has nothing for, with the reason.

    UserError where it lacks the harness, or what an oracle needs that was asked for.
    """
    lacks = api.lacks_of(tvm)
    if harness in lacks:
        raise UserError(f"--harness: {harness} is not available on {tvm}: {lacks[harness]}")
    names = default_oracles(harness) if wanted is None else comma_separated(wanted)
    missing = {name: why for name in names if ":" not in name and (why := missing_for(name, lacks))}
    if missing and wanted is not None:
        raise UserError(
            "; ".join(f"--oracles: {name} is not available on {tvm}: {why}" for name, why in missing.items())
        )
    return tuple(name for name in names if name not in missing), missing


_OF_CASES = (
    "target",
    "arch",
    "coverage",
    "seeds",
    "corpus",
    "n_max",
    "mutators",
    "mutator_choice",
    "entry_choice",
    "pass_mode",
    "feedback",
    "oracles",
    "pairs_per_fork",
)
"""Options of `fuzz` that say nothing to a harness without Cases."""


def _given() -> frozenset[str]:
    """The options that stand on the command line, by the names of their parameters."""
    context = click.get_current_context()
    return frozenset(
        name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    )


def _refuse_options_of_cases(harness: str, oracles: tuple[str, ...], given: frozenset[str]) -> None:
    for name in _OF_CASES:
        if name in given and not (name == "oracles" and owns_oracles(harness, oracles)):
            option = "--" + name.replace("_", "-")
            raise UserError(f"{option}: has no meaning with --harness {harness}, which has neither programs nor passes")


_NAMED_SEEDS = ("builtin", "graph", "tiles", "none")


def _existing_directory(text: str) -> Path:
    path = Path(text)
    if not path.is_dir():
        raise UserError(f"--seeds: {text!r} is neither builtin, graph, tiles, none nor a directory")
    return path.resolve()


def known_file(path: Path) -> Path:
    """Return the resolved path of a known.toml that reads; UserError otherwise."""
    read_known(path)
    return path.resolve()


def _summary(directory: CampaignDir, stats: Mapping[str, Any], out: str) -> Iterator[str]:
    yield stats_line(stats)
    for label, count in stats["known"].items():
        yield f"known, not bundled: {label} (seen {count} time{'' if count == 1 else 's'})"
    for problem in stats["problems"]:
        yield f"problem: {problem}"
    if faults := tally(stats):
        yield f"faults of tzerlike itself: {faults}, kept in {out.rstrip('/')}/faults; please report them"
    if line := warning(stats):
        yield line
    if is_uri(out):
        yield f"to report and triage it, make a local copy: tzerlike cluster fetch {shlex.quote(out)} DIRECTORY"
    else:
        yield from ending(directory)
