"""The directory carried from one run to the next: a corpus, and a bundle of every finding so far."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tzerlike.campaign.corpora.carried import case_ids
from tzerlike.campaign.directory import CampaignDir, finding_in_name
from tzerlike.campaign.shard import owner_of
from tzerlike.campaign.state import read_state
from tzerlike.core.errors import UserError
from tzerlike.core.storage import make_directories, remove, write_atomic
from tzerlike.core.untrusted import read_bytes


@dataclass(frozen=True, slots=True)
class Carry:
    """`root` holds `corpus/` and `findings/`, as a campaign does; it need not exist before the first run."""

    root: Path

    @property
    def corpus(self) -> Path:
        return self.root / "corpus"

    @property
    def findings(self) -> Path:
        return self.root / "findings"

    def create(self) -> None:
        """Make what is missing; UserError when that is not possible."""
        make_directories("--carry", self.corpus, self.findings)

    def ids(self) -> list[str]:
        return case_ids(self.corpus) if self.corpus.is_dir() else []

    def holds(self, path: Path) -> bool:
        """Whether a bundle is one of this directory's."""
        return path.resolve().is_relative_to(self.findings.resolve())

    def take_corpus(self, campaign: CampaignDir, jobs: int) -> None:
        """Replace the corpus by the campaign's, and by what the campaign had no time to try.

        The rest compiled no more, or reached nothing that the others do not. What is new is written before anything is
        removed, so an interruption loses nothing.
        """
        states = [read_state(p) for number in range(jobs) if (p := campaign.worker_state(number)).exists()]
        through = {state.worker: state.carried_through for state in states}
        superseded = {case_id for state in states for case_id in state.superseded}
        kept = set(campaign.corpus_ids()) - superseded
        before = set(self.ids())
        untried = {case_id for case_id in before if case_id > through.get(owner_of(case_id, jobs), "")}
        for case_id in sorted(kept - before):
            write_atomic(self.corpus / f"{case_id}.json", read_bytes(campaign.corpus / f"{case_id}.json"))
        for case_id in before - kept - untried:
            (self.corpus / f"{case_id}.json").unlink(missing_ok=True)

    def take_bundles(self, paths: Iterable[Path]) -> None:
        """Copy bundles of what has none here, each whole or not at all."""
        present = set(map(finding_in_name, CampaignDir(self.root).bundles()))
        for path in paths:
            if finding_in_name(path) in present:
                continue
            temporary = self.findings / f".tmp-{os.getpid()}-{path.name}"
            remove(temporary)
            try:
                shutil.copytree(path, temporary, symlinks=True)
                os.rename(temporary, self.findings / path.name)
            except OSError as error:
                raise UserError(f"--carry: {self.findings / path.name}: {error.strerror}") from error
            finally:
                remove(temporary)
