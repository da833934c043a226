"""The campaign's own directory, and what each machine is sent of it.

Nothing here knows how messages travel, and nothing is kept in memory alone that a restart cannot read again from the
directory.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from tzerlike import __version__
from tzerlike.campaign.books import Books
from tzerlike.campaign.cluster.epochs import Epochs, read_epochs, write_epochs
from tzerlike.campaign.cluster.merged import Merged
from tzerlike.campaign.cluster.parcel import (
    ANOTHER,
    Heard,
    News,
    Parcel,
    Piece,
    PiecesByPath,
    Welcome,
    files_below,
    lay_down,
)
from tzerlike.campaign.directory import CampaignDir, finding_in_name, signature_in_name
from tzerlike.campaign.machines import difference
from tzerlike.campaign.shard import Part
from tzerlike.core.config import CampaignConfig
from tzerlike.core.errors import UserError
from tzerlike.core.storage import write_directory
from tzerlike.core.untrusted import parse_json
from tzerlike.findings.cases import read_case

MOST_CASES = 64
"""Cases in an answer: of more that are new, so many are drawn. What all machines find, none has the time to mutate."""

MOST_AT_FIRST = 10_000
"""The same for a machine that takes up a part: a second of the coordinator's time, and tens of megabytes."""

_LOOKED_AT = 8 * MOST_CASES
"""Of how many new cases those of others are looked for: a machine's own are among them."""

_NOBODY = -1
"""Who has what came from a machine that had lost its part: nobody, so all are told."""

_REMEMBERED = 4096
_LAPSES = 30.0
"""Seconds after which a claim is nobody's that its worker no longer wishes for: it is done, or cut off."""

_T = TypeVar("_T")

_FINDINGS = "findings/"
_COVERAGE = "/coverage.bits"
_CORPUS = "corpus/"


class Coordinator:
    """Takes what the machines of a campaign send into its directory, and tells each what the others have.

    `tvm` is the version that the first machine of a campaign has to have, "" for any; the others are like the first.
    """

    def __init__(self, directory: CampaignDir, tvm: str = "") -> None:
        directory.create(0)
        self._tvm = tvm
        self.directory = directory
        self.config = CampaignConfig.from_toml(directory.config)
        self._books = Books(directory)
        self._books.open()
        self._saved: dict[str, Any] = {}
        self._heard = dict.fromkeys(range(self.config.nodes), time.monotonic())
        self._ended = False
        self._epochs = read_epochs(directory.cluster) if directory.cluster.exists() else Epochs()
        write_epochs(directory.cluster, self._epochs)
        self.campaign = self._epochs.campaign
        self._corpus = [(name, _NOBODY) for name in directory.corpus_ids()]
        """The cases in the order in which they came, and the machine that each is from."""
        self._known = {name for name, _ in self._corpus}
        self._name = secrets.token_hex(8)
        self._rng = Random(self._name)
        self._coverage = Merged(path.read_bytes() for path in sorted(directory.root.glob("workers/*/coverage.bits")))
        self._recent: dict[str, Piece] = {}
        """The last cases that came, which are soon asked for."""
        self._owners = {signature_in_name(bundle): self._owner(bundle) for bundle in directory.bundles()}
        self._claims: dict[str, tuple[str, float]] = {}
        """By signature, the worker that has the claim, and when it last wished for it."""

    def join(self, node: int) -> Welcome:
        """Let a machine have the part `node`, whoever had it before."""
        self._heard[node] = time.monotonic()
        epoch = self._epochs.next(node)
        write_epochs(self.directory.cluster, self._epochs)
        directory, root = self.directory, self.directory.root
        files = [directory.config, directory.environment, directory.focus]
        for number in self._part(node).numbers:
            files += files_below(directory.worker(number))
        files += (directory.corpus / f"{name}.json" for name, _ in self._drawn(self._corpus, MOST_AT_FIRST))
        files += (path for bundle in self._bundles_of(node) for path in files_below(bundle))
        pieces = {path.relative_to(root).as_posix(): Piece.of(path.read_bytes()) for path in files if path.exists()}
        return Welcome(epoch, pieces, self.campaign)

    def exchange(self, node: int, epoch: int, parcel: Parcel) -> News:
        """Take a parcel of the machine with the part `node`; one that has lost its part gives no more than cases and
        findings, of which a finding that the campaign has is let go. The same parcel may come twice."""
        current = self._epochs.current(node) == epoch
        if why := self._unfit(parcel):
            return News(end=why)
        broken = tuple(self._take(node, current, parcel.pieces))
        if not current:
            return News(end=ANOTHER)
        self._heard[node] = time.monotonic()
        holders = {signature: self._holder(signature, worker) for signature, worker in parcel.wishes}
        elsewhere = tuple(sorted(signature for signature, owner in self._owners.items() if owner != node))
        name, _, snapshot = parcel.heard
        found = ((path, self._packed(path)) for path in self._news_for(node, parcel.heard))
        pieces = {path: piece for path, piece in found if piece is not None}
        merged = self._coverage.merged
        if merged is not None and (name, snapshot) != (self._name, self._coverage.version):
            pieces[self.directory.merged_coverage.name] = merged
        heard = (self._name, len(self._corpus), self._coverage.version)
        return News(pieces, broken, holders, elsewhere, heard, self._ended)

    def keep_books(self) -> dict[str, Any]:
        """Add up what all machines have saved, and write it; returns the contents of stats.json.

        What was added up last is returned for a while.
        """
        stats = self._books.total(anew=self._ended)
        if stats is not self._saved:
            self._books.save(stats)
            self._saved = stats
        return stats

    def silence(self) -> list[float]:
        """For each part, how many seconds nothing has been heard of a machine that has it."""
        now = time.monotonic()
        return [now - self._heard[node] for node in range(self.config.nodes)]

    def end(self) -> None:
        """From now on, have each machine that asks save what it has and come to its end."""
        self._ended = True

    def _part(self, node: int) -> Part:
        return Part(self.config.jobs, node, self.config.nodes)

    def _holder(self, signature: str, worker: str) -> str:
        """The worker that has the claim to a signature, now that one wishes for it."""
        now = time.monotonic()
        holder, wished = self._claims.get(signature, (worker, now))
        if holder == worker or now - wished > _LAPSES:
            holder = worker
            self._claims[signature] = worker, now
        return holder

    def _unfit(self, parcel: Parcel) -> str:
        """Why a machine cannot take part, by the environment that it sends at first."""
        known = self.directory.environment
        if known.name not in parcel.pieces:
            return ""
        facts = parse_json(parcel.pieces[known.name].data)
        # A campaign may be resumed by a newer one, but then by all of its machines.
        if (version := facts.get("tzerlike")) != __version__:
            return f"its tzerlike is {version}, but the coordinator's is {__version__}"
        if known.exists():
            return difference(facts, self.directory.read_environment())
        return difference(facts, {**facts, "tvm": self._tvm or facts.get("tvm")})

    def _take(self, node: int, current: bool, pieces: PiecesByPath) -> Iterator[str]:
        """Lay down what a machine sends; yield what it has to send as a whole."""
        bundles: dict[str, PiecesByPath] = {}
        for path, piece in pieces.items():
            if path.startswith(_FINDINGS):
                name, _, inner = path.removeprefix(_FINDINGS).partition("/")
                bundles.setdefault(name, {})[inner] = piece
            elif path.startswith(_CORPUS):
                lay_down(self.directory.root, path, piece)
                self._remember(path, piece)
                if (case_id := Path(path).stem) not in self._known:
                    self._known.add(case_id)
                    self._corpus.append((case_id, node if current else _NOBODY))
            elif current and not lay_down(self.directory.root, path, piece):
                yield path
            elif current and path.endswith(_COVERAGE):
                self._coverage.add(piece.data)
        for name, files in bundles.items():
            if current or signature_in_name(Path(name)) not in self._owners:
                self._take_bundle(node if current else _NOBODY, name, files)

    def _take_bundle(self, node: int, name: str, files: PiecesByPath) -> None:
        """Take a bundle, or what has changed in one, from the machine that was the first with its signature."""
        signature = signature_in_name(Path(name))
        if self._owners.get(signature, node) != node:
            return
        target = self.directory.findings / name
        if not target.exists() and finding_in_name(target) in map(finding_in_name, self.directory.bundles()):
            return
        if not target.exists() and all("/" not in inner for inner in files):
            write_directory(target, {inner: piece.data for inner, piece in files.items()})
        else:
            for inner, piece in files.items():
                lay_down(target, inner, piece)
        self._owners[signature] = node

    def _news_for(self, node: int, heard: Heard) -> list[str]:
        """Cases of others that a machine has not heard of, MOST_CASES at most: of all cases where another coordinator
        told it."""
        name, count, _ = heard
        new = self._drawn(range(count if name == self._name else 0, len(self._corpus)), _LOOKED_AT)
        cases = [case_id for case_id, owner in map(self._corpus.__getitem__, new) if owner != node]
        return [f"{_CORPUS}{case_id}.json" for case_id in self._drawn(cases, MOST_CASES)]

    def _drawn(self, things: Sequence[_T], most: int) -> Sequence[_T]:
        return things if len(things) <= most else self._rng.sample(things, most)

    def _remember(self, path: str, piece: Piece) -> None:
        self._recent[path] = piece
        if len(self._recent) > _REMEMBERED:
            del self._recent[next(iter(self._recent))]

    def _packed(self, path: str) -> Piece | None:
        """A case; None where somebody has removed it."""
        with contextlib.suppress(OSError):
            return self._recent.get(path) or Piece.of((self.directory.root / path).read_bytes())
        return None

    def _bundles_of(self, node: int) -> Iterator[Path]:
        for bundle in self.directory.bundles():
            if self._owners.get(signature_in_name(bundle)) == node:
                yield bundle

    def _owner(self, bundle: Path) -> int:
        try:
            return read_case(bundle / "case.json").provenance.worker // self.config.jobs
        except UserError:
            return _NOBODY
