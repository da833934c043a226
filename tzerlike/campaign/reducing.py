"""Findings of a worker are reduced while it continues, and other causes behind the same signature are kept.

Everything is reduced roughly first, with few candidates, and the rest of the way while nothing new waits. Candidates
are tried a few an iteration, as many as a share of the children allows: the loop never waits for a search, and the same
campaign does the same again. While a campaign's time runs out, it does nothing but reduce what people read first. What
is left when it ends, the next one begins anew.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from tzerlike.campaign.state import ToReduce, WorkerState
from tzerlike.core.case import Case
from tzerlike.core.errors import UserError
from tzerlike.core.finding import FIRST_TIER, SCHEME, Finding, Signed
from tzerlike.core.limits import Limits
from tzerlike.core.shrink import Shrinking, Task, last_that
from tzerlike.core.stored import StoredCase
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bisect.role import bisect_by, has_culprit
from tzerlike.findings.bundle_tier import tier_with_reduced
from tzerlike.findings.bundles.bundle import Bundle, Confirmation, bundles_of, read_bundle, read_record
from tzerlike.findings.bundles.shorten import SHORT_KINDS, is_short
from tzerlike.findings.programs import Programs
from tzerlike.findings.reduction import ROUGHLY
from tzerlike.findings.reduction.alone import with_last_step_alone
from tzerlike.findings.reduction.earlier import as_reduced
from tzerlike.findings.reduction.guilty import guilty_passes
from tzerlike.findings.reduction.haste import hasty
from tzerlike.findings.reduction.held import search_held
from tzerlike.findings.reduction.judge import FindingJudge
from tzerlike.findings.reduction.place import reduced_in
from tzerlike.findings.reduction.record import Recorder
from tzerlike.findings.refresh import refresh_report
from tzerlike.findings.retrial import retrial_of
from tzerlike.findings.sufficing import sufficing
from tzerlike.oracles import judged, make_oracles
from tzerlike.plugins import harness_named

_FINE_SHARE = 0.4
"""The part of what may be spent on reductions that is spent while a bundle of the second tier comes first that was
reduced roughly."""

_PATIENCE = 3
"""Candidates of a reducer in a row that come to nothing before a rough search leaves it."""

_ROUGHLY = 16
"""Candidates of a rough search, at most."""

_AT_ONCE = 2
_ATTEMPTS = 100
"""Children between two iterations, for each case of the first, and attempts at making candidates."""

_RIVALS = 8
"""Cases that wait, at most, to be compared with what has their signature: each is kept in the worker's state."""

_TRIES = 2
"""Workers that may end over a reduction."""

_UNFIT = ("slow-code",)
"""Kinds that show only when nothing else is under way."""

_COST = {"hang": 20, "oom": 20}
"""How many children each counts as that takes all of some limit."""


class Reductions:
    """The reductions of one worker, whose `state` has what waits and what was spent.

    `keep` waits for room on the disk; `bundle` writes the bundle of a finding that has another cause than others of its
    signature.
    """

    def __init__(
        self,
        state: WorkerState,
        findings: Path,
        executor: ForkExecutor,
        programs: Programs,
        oracles: Sequence[str],
        keep: Callable[[Callable[[], Any]], Any],
        bundle: Callable[[Finding, StoredCase], object],
    ) -> None:
        self._state = state
        self._findings = findings
        self._executor = executor
        self._programs = programs
        self._oracles = oracles
        self._keep = keep
        self._bundle = bundle
        self._under_way: dict[int, Iterator[int]] = {}
        """By what is reduced; what waits for something more urgent is among them."""
        self._current: ToReduce | None = None
        self._pairs = state.pairs
        """Cases of the campaign when candidates were tried the last time: an iteration may be a batch of them."""
        self._left = 0
        """Children that may still be taken before the next iteration; fewer than none where a step took too many."""

    def found(self, bundle: Path, finding: Signed, tier: int = 0) -> None:
        """Have a bundle reduced when its turn comes."""
        self._state.to_reduce.append(ToReduce(signature=finding.signature, bundle=bundle.name, tier=tier))

    def seen_again(self, finding: Finding, stored: StoredCase) -> None:
        """Have some of the findings that have a bundle compared with it: the first, the second, the fourth..."""
        again = self._state.seen_again
        again[finding.signature] += 1
        count, waiting = again[finding.signature], self._state.to_reduce
        rivals = [one for one in waiting if not one.bundle]
        doubled = count & (count - 1) == 0
        if doubled and len(rivals) < _RIVALS and all(one.signature != finding.signature for one in rivals):
            waiting.append(ToReduce.rival(finding.signature, replace(stored, case=finding.case)))

    @property
    def urgent(self) -> bool:
        """Whether a bundle of the first tier waits."""
        return any(one.urgent for one in self._state.to_reduce)

    def go_on(self, *, to_the_end: bool = False) -> None:
        """Try the next few candidates, as far as they may be afforded; or `to_the_end`, those of the first tier."""
        state = self._state
        cases, self._pairs = max(1, state.pairs - self._pairs), state.pairs
        self._left = min(0, self._left) + _AT_ONCE * cases
        for _ in range(_ATTEMPTS):
            if not state.to_reduce or self._left <= 0:
                return
            state.to_reduce.sort(key=_last_turn if to_the_end else _turn)
            first = state.to_reduce[0]
            if not (first.urgent if to_the_end else self._affords(first)):
                return
            cost = self._step()
            self._left -= cost
            state.reducing += cost

    def _affords(self, first: ToReduce) -> bool:
        share = self._programs.reducing_share
        if first.rough and first.tier != FIRST_TIER:
            share *= _FINE_SHARE
        return self._state.reducing < share * self._state.pairs

    def rest(self) -> None:
        """The worker ends of its own: what is under way is not to blame."""
        for one in self._state.to_reduce:
            one.tries = 0

    def _step(self) -> int:
        """Go on with what comes first; returns how many children that took."""
        item, before, weight = self._state.to_reduce[0], self._executor.children, 1
        if item is not self._current:
            if self._current is not None:
                self._current.tries -= 1
            item.tries += 1
            self._current = item
        if id(item) not in self._under_way:
            self._under_way[id(item)] = self._reduced(item)
        try:
            weight = next(self._under_way[id(item)])
        except StopIteration as end:
            self._done(item, goes_on=bool(end.value))
        except UserError:
            self._done(item)
        except Exception:
            self._done(item)
            raise
        return weight * (self._executor.children - before)

    def _done(self, item: ToReduce, *, goes_on: bool = False) -> None:
        del self._under_way[id(item)]
        self._current = None
        if goes_on:
            item.rough, item.tries = True, 0
            item.tier = min(filter(None, (item.tier, _tier_by_now(self._findings / item.bundle))), default=0)
        else:
            del self._state.to_reduce[0]

    def _reduced(self, item: ToReduce) -> Generator[int, None, bool]:
        """Reduce a bundle, or a rival of one; yields after each step what a child of it counts as.

        Returns whether there is more to do.
        """
        bundle = read_bundle(self._findings / item.bundle) if item.bundle else self._as_bundle(item)
        if bundle is None or item.tries > _TRIES or bundle.kind in _UNFIT:
            return False
        if item.bundle and not item.rough:
            return (yield from self._roughly(bundle))
        if not item.bundle and not self._can_differ(item.signature):
            return False
        yield from self._finely(as_reduced(bundle), keep=bool(item.bundle))
        return False

    def _roughly(self, bundle: Bundle) -> Generator[int, None, bool]:
        """Reduce a bundle with a few candidates; returns False where it does not show any more."""
        if bundle.kind in _COST:
            return True
        judge = self._judge(bundle)
        shows = judge.finding(bundle.stored.case, judge.retrial.few[0]) is not None
        yield 1
        if not shows:
            return False
        held = search_held(bundle, self._executor, self._oracles, self._programs)
        yield from _up_to(_ROUGHLY, held)
        bundle = self._alone(replace(bundle, environment=held.best))
        yield 1
        search = self._search(bundle, self._judge(bundle))
        yield from _up_to(_ROUGHLY - held.asked, search)
        self._save(bundle, [search.best], {**bundle.environment, ROUGHLY: True})
        yield 1
        self._show_culprit(bundle)
        return True

    def _finely(self, bundle: Bundle, *, keep: bool) -> Iterator[int]:
        """Reduce a bundle to the end, and `keep` what comes of it, with its culprit; or compare it with the bundles of
        its signature."""
        weight = _COST.get(bundle.kind, 1)
        same, times = self._judge(bundle).times_shown(bundle.stored.case)
        yield weight
        if same < times:
            return
        bundle = yield from self._holding_less(bundle, weight)
        alone = self._alone(bundle)
        yield weight
        if alone is not bundle:
            bundle = yield from self._holding_less(alone, weight)
        limits = hasty(self._executor.limits, bundle.kind)
        accepted = [bundle.stored.case]
        search = self._search(bundle, self._judge(bundle, limits), accepted.append)
        yield from (weight for _ in search.steps())
        bundle = yield from self._holding_less(replace(bundle, stored=replace(bundle.stored, case=search.best)), weight)
        if keep:
            self._save(bundle, accepted, bundle.environment)
            yield weight
            self._show_culprit(bundle)
        else:
            self._compare(search.best, bundle, self._judge(bundle))
        yield weight

    def _show_culprit(self, bundle: Bundle) -> None:
        """Have the report of a bundle show what its culprit does to the program."""
        if has_culprit(bundle):
            self._keep(lambda: bisect_by(self._executor, bundle, self._oracles))
            self._keep(lambda: refresh_report(bundle.path))

    def _alone(self, bundle: Bundle) -> Bundle:
        return with_last_step_alone(bundle, self._executor, self._oracles, self._programs)

    def _search(
        self, bundle: Bundle, judge: FindingJudge, taken: Callable[[Case], None] = lambda case: None
    ) -> Shrinking[Case]:
        reducers = (guilty_passes(bundle.observation), *self._programs.reducers.values())
        task = Task(reducers, self._programs.size, lambda case: case.id, judge.keeps, judge.may_keep)
        return Shrinking(bundle.stored.case, task, taken)

    def _save(self, bundle: Bundle, cases: Sequence[Case], environment: Mapping[str, Any]) -> None:
        """Write the smallest of ever smaller cases that is confirmed."""
        recorder = Recorder(bundle, self._judge(bundle), environment)
        before = _tier_by_now(bundle.path)
        if self._keep(lambda: recorder.save(last_that(recorder.save, cases))):
            self._count_again(before, _tier_by_now(bundle.path))
            self._keep(lambda: refresh_report(bundle.path))

    def _count_again(self, before: int, now: int) -> None:
        """Count a bundle in the tier that it has `now`; not where the worker that counted it ended before it saved."""
        tiers = self._state.tiers
        if before != now and tiers[str(before)]:
            tiers[str(before)] -= 1
            tiers[str(now)] += 1

    def _judge(self, bundle: Bundle, limits: Limits | None = None) -> FindingJudge:
        effort = sufficing(self._executor.effort, bundle.observation)
        retrial = retrial_of(bundle, self._executor, self._oracles, self._programs, limits, effort)
        return FindingJudge(retrial, bundle, self._programs)

    def _holding_less(self, bundle: Bundle, weight: int) -> Generator[int, None, Bundle]:
        """Reduce what the environment of a bundle holds, and return the bundle with it."""
        search = search_held(bundle, self._executor, self._oracles, self._programs)
        yield from (weight for _ in search.steps())
        return replace(bundle, environment=search.best)

    def _as_bundle(self, item: ToReduce) -> Bundle | None:
        """What a bundle of a rival would say; None where it does not show any more."""
        stored = item.stored
        (seen,) = self._executor.run([stored.case], count=False)
        found = judged(make_oracles(self._oracles), stored.case, seen.sound())
        finding = next((one for one in found if one.signature == item.signature), None)
        if finding is None:
            return None
        return Bundle(
            path=self._findings,
            kind=finding.kind,
            signature=finding.signature,
            parts=finding.parts,
            limits=self._executor.limits,
            confirmed=Confirmation(0, 0),
            observation=finding.observation,
            environment={},
            scheme=SCHEME,
            marks=finding.marks,
            bare=finding.bare,
            gist=finding.gist,
            identity=finding.identity,
            place=finding.place,
            effect=finding.effect,
            root=finding.root,
            finer=finding.finer,
            slips=finding.slips,
            apart=(),
            stored=replace(stored, case=finding.case),
        )

    def _compare(self, best: Case, rival: Bundle, judge: FindingJudge) -> None:
        """Bundle a reduced rival if it does without something that every other one of its signature needs, and they do
        without something of its own."""
        ours = _essence(best)
        others = self._essences(rival.signature)
        if others and all(ours - other and other - ours for other in others):
            finding = judge.finding(best)
            if finding is not None and (is_short(best) or finding.kind not in SHORT_KINDS):
                self._bundle(replace(finding, apart=tuple(sorted(ours))), replace(rival.stored, case=best))

    def _can_differ(self, signature: str) -> bool:
        """Whether there is a reduced bundle to be compared with, and each of them needs something."""
        others = self._essences(signature)
        return bool(others) and all(others)

    def _essences(self, signature: str) -> list[set[str]]:
        """What the reduced programs of a signature need; a bundle that was kept apart is reduced itself."""
        found = []
        for path in bundles_of(self._findings, signature):
            reduced, bundle = reduced_in(path), read_bundle(path)
            smaller = None if reduced is None else read_bundle(reduced)
            if smaller is not None and not smaller.environment.get(ROUGHLY):
                found.append(_essence(smaller.stored.case))
            elif bundle.apart:
                found.append(_essence(bundle.stored.case))
        return found


def _tier_by_now(path: Path) -> int:
    """The tier of a bundle, or that of its reduced program where that is the better one."""
    return tier_with_reduced(path, read_record(path))


def _turn(one: ToReduce) -> tuple[bool, bool, bool]:
    """Where something stands among what waits: bundles before what is compared with them, which needs them reduced; of
    bundles those that nobody has reduced yet, then the first tier before the second."""
    return not one.bundle, one.rough, one.tier != FIRST_TIER


def _last_turn(one: ToReduce) -> tuple[bool, bool]:
    """Where something stands among what waits as a campaign ends: what is urgent first, the rough behind the raw."""
    return not one.urgent, one.rough


def _up_to(most: int, search: Shrinking[Any]) -> Iterator[int]:
    """Search roughly, with so many candidates at most."""
    return (1 for _ in takewhile(lambda _: search.asked < most, search.once(_PATIENCE)))


def _essence(case: Case) -> set[str]:
    """The kinds of nodes in a reduced program that tell its cause; none where its harness has no say in that."""
    harness = harness_named(case.harness)
    return set(harness.load("essence")(case.ir)) if harness.essence else set()
