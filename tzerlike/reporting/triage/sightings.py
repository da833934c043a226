"""The bundles in campaigns and other directories, as far as needed to compare them. Imports no TVM."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import msgspec

from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.events import event_lines
from tzerlike.campaign.stats import read_stats
from tzerlike.core.case import canonical_json, content_hash
from tzerlike.core.errors import UserError
from tzerlike.core.progress import Steps, counted, untold
from tzerlike.core.schema import Seconds, Text
from tzerlike.core.untrusted import is_directory, read_json
from tzerlike.findings.bundle_tier import tier_with_reduced
from tzerlike.findings.bundles.bisection import Bisection, read_bisection
from tzerlike.findings.bundles.bundle import read_record
from tzerlike.findings.cases import harness_of, read_case
from tzerlike.reporting.triage.cause import Cause, cause_of, named_by


@dataclass(frozen=True, slots=True)
class Sighting:
    """A bundle.

    `signatures` are its own and those that it has under other schemes. `size` is the length of its smallest program's
    text; `bisected` says that its cause comes from a bisection; `first_seen` is seconds into its campaign, None
    where that is not written down; `runs` and `same` are the runs after the first, and those of them that showed
    it. `tier` is that of tzerlike.findings.tiers, 0 where it is not known. `apart` tells it from others
    of its signature.
    """

    path: Path
    kind: str
    signature: str
    signatures: tuple[str, ...]
    title: str
    message: str
    cause: Cause | None
    bisected: bool
    case_id: str
    size: int
    version: str
    first_seen: float | None
    runs: int
    same: int
    tier: int = 0
    apart: tuple[str, ...] = ()

    @property
    def rank(self) -> tuple[int, str, str]:
        """The smallest case first, then by case id; bundles of one case by their place."""
        return (self.size, self.case_id, str(self.path))


@dataclass(frozen=True, slots=True)
class Sightings:
    """All bundles in their ranks' order; `problems` are those that cannot be read.

    `versions` of TVM were run, whether they brought a bundle or not. `hidden` counts by label of a known.toml what
    campaigns saw and did not bundle.
    """

    bundles: tuple[Sighting, ...]
    problems: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    hidden: Mapping[str, int] = field(default_factory=dict)


def collect(paths: Iterable[Path], steps: Steps = untold) -> Sightings:
    """Read campaign directories, directories of bundles, and bundles, each bundle once, whatever their order.

    UserError when a path is none of these, or is itself a bundle that cannot be read.
    """
    bundles: dict[Path, Path] = {}
    versions: set[str] = set()
    hidden: Counter[str] = Counter()
    named = set(paths)
    for path in sorted(named):
        for bundle in bundles_in(path):
            bundles.setdefault(bundle.resolve(), bundle)
    for root in {path.resolve() for path in named if (path / "campaign.toml").is_file()}:
        campaign = CampaignDir(root)
        with suppress(UserError):
            versions.add(campaign.read_environment()["tvm"])
        with suppress(UserError):
            hidden.update(read_stats(campaign.stats)["known"])
    moments = cache(first_moments)
    found: list[Sighting] = []
    problems: list[str] = []
    for real in counted(list(bundles), steps):
        bundle = bundles[real]
        try:
            found.append(_sighting(bundle, moments(real.parent.parent)))
        except UserError as error:
            if bundle in named:
                raise
            problems.append(str(error))
    versions.update(sighting.version for sighting in found)
    found.sort(key=lambda sighting: sighting.rank)
    return Sightings(
        tuple(found), tuple(sorted(problems)), tuple(sorted(versions - {""})), dict(sorted(hidden.items()))
    )


def bundles_in(path: Path) -> list[Path]:
    """Return the bundles of a campaign, in a directory, or the one that `path` is; UserError when it is none."""
    if os.path.lexists(path / "observation.json"):
        return [path]
    if (path / "campaign.toml").is_file() or (path / "findings").is_dir():
        return list(CampaignDir(path).bundles())
    if not path.is_dir():
        raise UserError(f"{path}: no such directory" if not path.exists() else f"{path}: not a directory")
    inside = [one for one in path.iterdir() if not one.name.startswith(".") and is_directory(one)]
    below = sorted(one for one in inside if os.path.lexists(one / "observation.json"))
    if not below and any(path.iterdir()):
        raise UserError(f"{path}: neither a campaign, nor a bundle, nor a directory of bundles")
    return below


def first_moments(root: Path) -> dict[str, float]:
    """Return when each signature was first seen, in seconds into the campaign at `root`; nothing if there is none."""
    moments: dict[str, float] = {}
    for worker in root.glob("workers/*"):
        for line in event_lines(worker):
            if b'"finding":["' not in line:
                continue
            try:
                event = _EVENT.decode(line)
            except (msgspec.MsgspecError, ValueError, RecursionError):
                continue
            for signature in event.finding:
                moments[signature] = min(event.t, moments.get(signature, event.t))
    return moments


class _Event(msgspec.Struct):
    t: Seconds
    finding: list[Text]


_EVENT = msgspec.json.Decoder(_Event)


def _sighting(path: Path, moments: Mapping[str, float]) -> Sighting:
    """UserError when the bundle cannot be read."""
    record = read_record(path)
    harness = harness_of(path)
    if not harness.has_cases:
        text = canonical_json(read_json(path / "case.json"))
        case_id, size = content_hash(text), len(text)
    else:
        case = read_case(path / "case.json").case
        case_id, size = case.id, len(case.ir)
    seen, signature = record.observation, record.signature
    reduced = _reduced(path) if harness.has_cases else ""
    shape = harness.load("shape")(reduced) if harness.shape else ()
    bisection = _bisected(path, signature)
    guilty, deed = ("", ()) if bisection is None else (bisection.guilty, bisection.deed)
    named = named_by(seen)
    # What has a blank in it is no pass.
    known = guilty or ("" if " " in named else named)
    cause = cause_of(record.kind, seen, harness.culprit or known, shape, deed, record.marks, record.slips)
    if record.bare and not harness.has_cases and record.kind != "crash":
        # The harness has looked for the cause itself.
        words = harness.load("words")(record.parts, record.bare) if harness.words else record.bare
        cause = Cause(record.kind, harness.culprit, ", ".join(filter(None, words)))
    elif cause is not None and record.apart and harness.has_cases:
        cause = replace(cause, shape=record.apart)
    moment = record.environment.get("found_after_s")
    if not isinstance(moment, float) or moment < 0:
        # The bundle is one of before: the log of its worker says.
        moment = moments.get(signature)
    return Sighting(
        path=path,
        kind=record.kind,
        signature=signature,
        signatures=(signature, *record.signed.signatures),
        title=record.title,
        message=seen.message,
        cause=cause,
        bisected=bool(guilty),
        case_id=case_id,
        size=len(reduced) or size,
        version=record.version,
        first_seen=moment,
        runs=record.confirmed.runs,
        same=record.confirmed.same,
        tier=tier_with_reduced(path, record),
        apart=record.apart,
    )


def _reduced(path: Path) -> str:
    """The reduced program's text, or "": a reduction that cannot be read is none."""
    reduced = path / "reduced"
    try:
        return read_case(reduced / "case.json").case.ir if is_directory(reduced) else ""
    except UserError:
        return ""


def _bisected(path: Path, signature: str) -> Bisection | None:
    """What a bisection found for this signature; one that cannot be read counts as none."""
    try:
        bisection = read_bisection(path)
    except UserError:
        return None
    return bisection if bisection is not None and bisection.signature == signature else None
