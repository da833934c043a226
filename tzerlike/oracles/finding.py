"""A finding: something worth a bundle, with the signature that tells it from every other."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tzerlike.case import Case, content_hash
from tzerlike.observation import Observation


@dataclass(frozen=True, slots=True)
class Finding:
    """What an oracle reports.

    `kind` is one of DESIGN's kinds (crash, hang, oom, ...); `parts` is what makes it distinct, in words;
    `signature` is a short hash of kind and parts.
    """

    kind: str
    parts: tuple[str, ...]
    case: Case
    observation: Observation

    @property
    def signature(self) -> str:
        return content_hash("\n".join((self.kind, *self.parts)))[:12]

    @property
    def slug(self) -> str:
        """A few words for a directory name: lower case, dashes, at most 48 characters."""
        words = re.sub(r"[^a-z0-9]+", "-", " ".join(self.parts).lower()).strip("-")
        return words[:48].strip("-") or "unknown"

    @property
    def directory(self) -> str:
        return f"{self.kind}-{self.slug}-{self.signature}"

    @property
    def title(self) -> str:
        return f"{self.kind}: {' / '.join(self.parts)}"
