"""A finding: something worth a bundle, with the signature that identifies it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tzerlike.core.case import Case, content_hash
from tzerlike.core.observation import Observation

KINDS = ("crash", "hang", "oom", "wrong-code", "slow-code", "ice-on-valid")
"""What a finding may be."""


def kind_of(directory: str) -> str:
    """Return the kind that the name of a bundle's directory starts with."""
    return next((kind for kind in KINDS if directory.startswith(f"{kind}-")), directory.partition("-")[0])


@dataclass(frozen=True, slots=True)
class Signed:
    """What identifies a finding.

    `kind` is one of KINDS; `parts` is what makes it distinct, in words;
    `signature` is a short hash of kind and parts.
    """

    kind: str
    parts: tuple[str, ...]

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


@dataclass(frozen=True, slots=True)
class Finding(Signed):
    """What an oracle reports of a case."""

    case: Case
    observation: Observation
