"""A finding: something worth a bundle, with the signature that identifies it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tzerlike.core.case import Case, content_hash
from tzerlike.core.observation import Observation

KINDS = ("crash", "hang", "oom", "wrong-code", "slow-code", "ice-on-valid", "invalid-ir")
"""What a finding may be."""


FIRST_TIER, SECOND_TIER = 1, 2
"""What users of the compiler would meet, and what takes an order of passes of our own; see tzerlike.findings.tiers."""

SCHEME = 10
"""How signatures are made today. Those of scheme 1, of bundles that state none, leave out `marks`; those of scheme 2 go
by all `parts`; those of scheme 3 leave out `finer`, those of scheme 4 `slips`, those of scheme 5 `gist`,
those of scheme 6 `identity`, those of scheme 7 `place`, those of scheme 8 `effect`, those of scheme 9 `root`."""


def kind_of(directory: str) -> str:
    """Return the kind that the name of a bundle's directory starts with."""
    return next((kind for kind in KINDS if directory.startswith(f"{kind}-")), directory.partition("-")[0])


@dataclass(frozen=True, slots=True)
class Signed:
    """What identifies a finding.

    `kind` is one of KINDS; `parts` is what makes it distinct, in words; `marks` tell apart what these words would not,
    and are in no title; `finer` are marks that came later, `slips` what a schedule primitive did wrong, still later.
    `bare` are the parts without what says little of the cause, dtypes and the names of operators and intrinsics, where
    there are such; `gist` are these, since scheme 6, without what a message quotes of a model. `identity` is, since
    scheme 7, all that tells a finding apart where the rest has too much or too little for it: an internal error of the
    analyzer, which all passes share, is the check and where it stands; a program that comes back from its text as
    another is the field that does. `place` is the same since scheme 8 for what failed at a node that a visitor had come
    to: the kind of node, and the functions at work on it, wherever it stands. `effect` is, since scheme 9, the same for
    wrong code of which the guilty pass is known, with what that does: whether a wrong value is the first one, not a
    number or infinite is chance. `root` is, since scheme 10, the same for wrong values due to a schedule primitive,
    with what that does where it is known, and for a function of TVM's that is at fault whoever calls it; for models
    it is `gist` and `marks` without any type that they quote, or the operator whose gradient is at fault and how.
    `apart` is what the reduced program has, where another finding of the same signature was reduced to one without:
    two causes that have one signature.
    """

    kind: str
    parts: tuple[str, ...]
    marks: tuple[str, ...] = field(default=(), kw_only=True)
    bare: tuple[str, ...] = field(default=(), kw_only=True)
    gist: tuple[str, ...] = field(default=(), kw_only=True)
    identity: tuple[str, ...] = field(default=(), kw_only=True)
    place: tuple[str, ...] = field(default=(), kw_only=True)
    effect: tuple[str, ...] = field(default=(), kw_only=True)
    root: tuple[str, ...] = field(default=(), kw_only=True)
    finer: tuple[str, ...] = field(default=(), kw_only=True)
    slips: tuple[str, ...] = field(default=(), kw_only=True)
    apart: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def signature(self) -> str:
        """A short hash of it all."""
        return self.signatures[-1]

    @property
    def signatures(self) -> tuple[str, ...]:
        """Its signature under each scheme, the first one's first."""
        marks = ("", *self.marks) if self.marks else ()
        finer, slips = (("", *words) if words else () for words in (self.finer, self.slips))
        third = (*(self.bare or self.parts), *marks)
        sixth = (*(self.gist or self.bare or self.parts), *marks, *finer, *slips)
        seventh = self.identity or sixth
        eighth = self.place or seventh
        ninth = self.effect or eighth
        later = (third, (*third, *finer), (*third, *finer, *slips), sixth, seventh, eighth, ninth, self.root or ninth)
        each = (self.parts, (*self.parts, *marks), *later)
        return tuple(content_hash("\n".join((self.kind, *words)))[:12] for words in each)

    @property
    def slug(self) -> str:
        """A few words for a directory name: lower case, dashes, at most 48 characters."""
        words = re.sub(r"[^a-z0-9]+", "-", " ".join(self.parts).lower()).strip("-")
        return words[:48].strip("-") or "unknown"

    @property
    def directory(self) -> str:
        other = f"other-{content_hash(' '.join(self.apart))[:6]}-" if self.apart else ""
        return f"{self.kind}-{self.slug}-{other}{self.signature}"

    @property
    def title(self) -> str:
        return f"{self.kind}: {' / '.join(self.parts)}"


@dataclass(frozen=True, slots=True)
class Finding(Signed):
    """What an oracle reports of a case."""

    case: Case
    observation: Observation
