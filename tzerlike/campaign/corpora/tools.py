"""Listing, minimizing and merging corpora: `tzerlike corpus`."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

from tzerlike.campaign.corpora.cover import Covered, smallest_cover, union
from tzerlike.campaign.directory import CampaignDir
from tzerlike.core.config import CampaignConfig
from tzerlike.core.errors import UserError
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit
from tzerlike.core.progress import Steps, untold
from tzerlike.core.stored import StoredCase
from tzerlike.findings.cases import read_case
from tzerlike.processes.client import Client

_CASE_FILE = re.compile(r"[0-9a-f]{64}\.json")
_BATCH = 200
"""Cases that one worker traces."""


@dataclass(frozen=True, slots=True)
class Files:
    """The case files of a corpus by id, and what was wrong with those left out."""

    paths: Mapping[str, Path]
    problems: tuple[str, ...] = ()


def case_files(directory: Path) -> Files:
    """Return the case files of a campaign or of a bare directory of cases; UserError when there is none.

    A file counts if it reads and its content belongs to its name.
    """
    place = directory / "corpus" if (directory / "corpus").is_dir() else directory
    if not place.is_dir():
        raise UserError(f"{directory}: no such directory; name a campaign or a directory of cases")
    paths: dict[str, Path] = {}
    problems: list[str] = []
    for path in sorted(place.iterdir()):
        if not _CASE_FILE.fullmatch(path.name):
            continue
        try:
            if read_case(path).case.id != path.stem:
                raise UserError(f"{path}: its content does not match its name")
            paths[path.stem] = path
        except UserError as error:
            problems.append(str(error))
    if not paths:
        raise UserError(f"{place}: {problems[0] if problems else 'no case files, which are named <sha256>.json'}")
    return Files(paths, tuple(problems))


def listed(files: Files) -> list[dict[str, Any]]:
    """Return a row for each case: what it is, where it comes from, how large it is."""
    rows = []
    for case_id, path in files.paths.items():
        stored = read_case(path)
        origin = stored.provenance
        rows.append(
            {
                "id": case_id,
                "bytes": path.stat().st_size,
                "passes": len(stored.case.passes),
                "pipeline": stored.case.config.pipeline,
                "origin": origin.origin,
                "mutator": origin.mutator or "",
                "generation": origin.generation,
            }
        )
    return rows


@dataclass(frozen=True, slots=True)
class Minimised:
    """What a minimisation came to; `lost` blocks are those that the kept cases did not reach when they ran again."""

    kept: tuple[str, ...]
    cases: int
    blocks: int
    bytes_before: int
    bytes_after: int
    refused: int
    lost: int

    def to_json(self) -> dict[str, Any]:
        return {
            "kept": len(self.kept),
            "cases": self.cases,
            "blocks": self.blocks,
            "bytes_before": self.bytes_before,
            "bytes_after": self.bytes_after,
            "refused": self.refused,
            "lost": self.lost,
            "ids": list(self.kept),
        }


def minimised(directory: Path, files: Files, open_client: Callable[..., Client], steps: Steps = untold) -> Minimised:
    """Choose the cases to keep (tzerlike.campaign.corpora.cover), and run them again to see that they reach the same
    blocks.

    Where they do not, since a block or two depend on more than the case, others that reached the missing ones are kept
    too. A case that does not compile reaches nothing that counts, and is not kept.
    """
    oracles = _oracles_of(directory)
    corpus = traced(files.paths, oracles, open_client, steps)
    kept = smallest_cover(corpus)
    if not kept:
        raise UserError(f"{directory}: none of the {len(files.paths)} cases compiles")
    before = union(corpus)
    again = traced({case_id: files.paths[case_id] for case_id in kept}, oracles, open_client, steps)
    missing = numpy.setdiff1d(before, union(again))
    if len(missing):
        others = {name: case.within(missing) for name, case in corpus.items() if name not in again}
        more = smallest_cover(others)
        again |= traced({case_id: files.paths[case_id] for case_id in more}, oracles, open_client) if more else {}
        kept = sorted({*kept, *more})
    return Minimised(
        kept=tuple(kept),
        cases=len(files.paths),
        blocks=len(before),
        bytes_before=sum(path.stat().st_size for path in files.paths.values()),
        bytes_after=sum(corpus[case_id].size for case_id in kept),
        refused=len(files.paths) - len(corpus),
        lost=len(numpy.setdiff1d(before, union(again))),
    )


def traced(
    paths: Mapping[str, Path], oracles: Sequence[str], open_client: Callable[..., Client], steps: Steps = untold
) -> dict[str, Covered]:
    """Return what each case that compiles covers, each run from nothing covered."""
    corpus: dict[str, Covered] = {}
    limits = Limits()
    names = sorted(paths)
    with tempfile.TemporaryDirectory() as scratch, open_client(coverage="auto") as client:
        for start in range(0, len(names), _BATCH):
            batch = names[start : start + _BATCH]
            steps(start, len(names), "")
            params = {
                "paths": [str(paths[name].parent.resolve() / paths[name].name) for name in batch],
                "oracles": list(oracles),
                "out": scratch,
                "seconds": limits.seconds,
                "memory": limits.memory,
            }
            for name, answer in zip(batch, client.ask("trace", params), strict=True):
                if answer["exit"] != Exit.OK.value:
                    continue
                file = Path(scratch) / f"{answer['index']}.npy"
                corpus[name] = Covered.of(paths[name].stat().st_size, numpy.load(file, allow_pickle=False))
                file.unlink()
    return corpus


def _oracles_of(directory: Path) -> list[str]:
    """The campaign's oracles: they decide how far a case goes. Of a bare directory, only compilation counts."""
    config = CampaignDir(directory).config
    oracles = CampaignConfig.from_toml(config).oracles if config.is_file() else ("crash",)
    # A measurement of speed covers nothing that a run does not.
    return [name for name in oracles if name != "performance"]


def copy_cases(paths: Mapping[str, Path], out: Path) -> int:
    """Write cases into the corpus of `out`, a new or existing campaign; returns how many were not there."""
    target = CampaignDir(out)
    target.create(0)
    before = set(target.corpus_ids())
    for path in paths.values():
        stored: StoredCase = read_case(path)
        target.save_case(stored)
    return len(set(paths) - before)
