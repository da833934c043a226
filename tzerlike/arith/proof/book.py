"""Rules with their verdicts: what has been proved need not be proved again, and is counted."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import msgspec

from tzerlike.arith.claims import Claim
from tzerlike.arith.model import Problem, walk
from tzerlike.arith.proof.client import PROOF_SECONDS
from tzerlike.arith.proof.prover import ProofVerdict, overflows, prove
from tzerlike.arith.proof.rule import RewriteRule, exact_values, generalised, relations, with_constants
from tzerlike.core.schema import Count, Schema, Text
from tzerlike.core.storage import json_text, write_atomic

_GENERAL = 0.15
"""The share of the time for a claim that a proof without ranges may take."""

_LIFTING = 0.2
"""As much again for each try to name the constants of a new rule: the verdict on the rewrite is there by then."""

_LONG = 16
"""Nodes of a rewrite whose constants are named, at most: longer ones are several rules at once."""

_BYTES = 1 << 28
"""Of a rules.json, at most."""

_MEMORY = 100_000
"""Claims at most whose verdict is remembered to the letter."""


class ProvedRule(msgspec.Struct):
    """A proved rule as rules.json has it. `free` of constants it holds for all of them, where `conditions` are met.

    `overflow` says whether the rewritten side may overflow where the original does not; None where that is unknown.
    """

    rule: Text
    conditions: list[Text]
    proved: RewriteRule
    seen: Count = 1
    free: bool = False
    overflow: bool | None = None


class _Stored(msgspec.Struct):
    rules: list[ProvedRule]


RULE_BOOK = Schema(_Stored, "rules")


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict on a claim, and how it came about: by a `rule` known before, `general` for all values, `whole` with
    the ranges and constraints of its problem, or `again`."""

    verdict: ProofVerdict
    how: Literal["rule", "general", "whole", "again"]


@dataclass(slots=True)
class RuleBook:
    """Decides claims within `limit` seconds each, and keeps what it has learnt."""

    limit: float = PROOF_SECONDS
    entries: dict[str, list[ProvedRule]] = field(default_factory=dict)
    _remembered: dict[str, ProofVerdict] = field(default_factory=dict)

    @property
    def rules(self) -> int:
        """Distinct proved rules, whatever their constants."""
        return len(self.entries)

    def decide(self, problem: Problem, claim: Claim) -> Decision:
        """Return the verdict on a claim; a rewrite that is proved is lifted to a rule."""
        began = time.perf_counter()
        key = f"{problem} | {claim}"
        if key in self._remembered:
            return Decision(replace(self._remembered[key], seconds=0.0), "again")
        rule = generalised(claim.left, claim.right) if claim.relation == "==" and not claim.modulus else None
        if rule is not None:
            if self._known(rule):
                return Decision(ProofVerdict("proved", seconds=time.perf_counter() - began), "rule")
            verdict = prove(rule.problem, rule.claim, _GENERAL * self.limit)
            if verdict.kind == "proved":
                seconds = time.perf_counter() - began
                self._lift(rule)
                return Decision(replace(verdict, seconds=seconds), "general")
        left = self.limit - (time.perf_counter() - began)
        verdict = replace(prove(problem, claim, left), seconds=time.perf_counter() - began)
        if len(self._remembered) < _MEMORY:
            self._remembered[key] = verdict
        return Decision(verdict, "whole")

    def _known(self, rule: RewriteRule) -> bool:
        """Whether a rule of the book covers this one, which has its constants still."""
        for shaped, values in (*with_constants(rule), (rule, dict[str, int]())):
            for entry in self.entries.get(shaped.shape, ()):
                if entry.proved.fits(values):
                    entry.seen += 1
                    return True
        return False

    def _lift(self, rule: RewriteRule) -> None:
        """Enter a proved rule, with as few conditions on its constants as can be proved."""
        last = (rule, dict[str, int]())
        short = rule.variables and sum(1 for _ in walk(rule.before)) <= _LONG
        for shaped, values in with_constants(rule):
            last = (shaped, values)
            if not short:
                break
            for conditions in ((), tuple(relations(shaped, values))):
                candidate = replace(shaped, conditions=conditions)
                verdict = prove(candidate.problem, candidate.claim, _LIFTING * self.limit)
                if verdict.kind == "proved":
                    self._enter(_without_needless(candidate, _LIFTING * self.limit / 2), free=True)
                    return
        shaped, values = last
        self._enter(replace(shaped, conditions=tuple(exact_values(shaped, values))), free=not values)

    def _enter(self, rule: RewriteRule, *, free: bool) -> None:
        known = self.entries.setdefault(rule.shape, [])
        overflow = overflows(rule.problem, rule.claim, _LIFTING * self.limit)
        known.append(ProvedRule(rule.shape, list(map(str, rule.conditions)), rule, free=free, overflow=overflow))

    @property
    def all(self) -> list[ProvedRule]:
        """What has been proved, that first which was met most often."""
        entries = [entry for known in self.entries.values() for entry in known]
        return sorted(entries, key=lambda entry: (-entry.seen, entry.rule))

    def summary(self) -> dict[str, int]:
        """Counts for a report: distinct rules, those of any constants that meet the conditions, and those whose
        rewritten side may overflow alone."""
        return {
            "rules": self.rules,
            "free_rules": len({entry.rule for entry in self.all if entry.free}),
            "overflowing_rules": len({entry.rule for entry in self.all if entry.overflow}),
        }

    def write(self, path: Path) -> None:
        """Write rules.json, whole or not at all."""
        write_atomic(path, json_text(RULE_BOOK.stamped(msgspec.to_builtins(_Stored(self.all)))))

    @classmethod
    def read(cls, path: Path, limit: float = PROOF_SECONDS) -> RuleBook:
        """Return a book that knows the rules of a rules.json, if there is one; UserError where it does not read."""
        book = cls(limit)
        for entry in RULE_BOOK.read(path, _BYTES).rules if path.exists() else ():
            book.entries.setdefault(entry.rule, []).append(entry)
        return book


def _without_needless(rule: RewriteRule, limit: float) -> RewriteRule:
    """The rule without the conditions that it is proved without, one by one."""
    kept = list(rule.conditions)
    for condition in rule.conditions:
        fewer = [each for each in kept if each != condition]
        slighter = replace(rule, conditions=tuple(fewer))
        if prove(slighter.problem, slighter.claim, limit).kind == "proved":
            kept = fewer
    return replace(rule, conditions=tuple(kept))
