"""Broken invariants of passes, checked around each pass of a compilation.

A pass leaves well-typed IR as such (tzerlike.tir.typecheck), and the module that it is given as it is. Of those that
leave ill-typed IR only the first is named: what comes later may be its consequence. Of nested passes it is the inner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tzerlike.core.effort import Check
from tzerlike.core.observation import CHANGED_SOMEHOW, LEFTOVER, NOT_KEPT, Offence
from tzerlike.systems import tvm_api, tvm_passes
from tzerlike.tir.kept import KeptForm, form_of, not_kept
from tzerlike.tir.launches import without_thread_domains
from tzerlike.tir.promises import MADE, TRUSTED
from tzerlike.tir.tree import Tree, defines_once, jumps_nowhere
from tzerlike.tir.typecheck import TypeChecker

_CODE_GENERATION = ""
"""In place of the name of a pass."""

SHARES = {Check.TYPES: 4, Check.IMMUTABILITY: 8}
"""Of the cases of a campaign one in so many is looked at: what a pass does, it does to many programs."""


def checks_due(checks: frozenset[Check], case_id: str, exploring: bool) -> list[Check]:
    """Which of the checks on passes are made on a case: all that are asked for where a single case is looked at."""
    return [
        check for check, share in SHARES.items() if check in checks and not (exploring and int(case_id[:8], 16) % share)
    ]


@tvm_api.tvm.ir.instrument.pass_instrument
class TypeWatch:
    """Notes the first pass that leaves ill-typed IR; none where that is what the passes begin with."""

    def __init__(self, own: Sequence[str] = ()) -> None:
        self.offence: Offence | None = None
        self._names = tvm_passes.PassNames(own)
        self._checker = TypeChecker()
        self._begun: Any = None
        self._done = False

    def run_before_pass(self, module: Any, info: Any) -> None:
        self._names.begin(info)
        if self._begun is None:
            self._begun = module
            self._done = self._checker.check_module(module) is not None

    def run_after_pass(self, module: Any, info: Any) -> None:
        name = self._names.end()
        if self._done:
            return
        bad = self._checker.check_module(module)
        if bad is not None:
            self._done = True
            self.offence = Offence(Check.TYPES.value, name, bad.rule, bad.where, bad.place)

    def found(self) -> list[Offence]:
        """The offence, where what the passes began with is well-formed too."""
        return [self.offence] if self.offence is not None and _well_formed(self._begun) else []


@tvm_api.tvm.ir.instrument.pass_instrument
class FormWatch:
    """Notes the first pass that leaves what is not `sound`: what TVM's verifiers refuse, where nothing else is said; of
    nested passes it is the inner."""

    def __init__(self, sound: Callable[[Any], bool] | None = None) -> None:
        self.maker = ""
        self._sound = sound or _well_formed

    def run_after_pass(self, module: Any, info: Any) -> None:
        if not self.maker and not self._sound(module):
            self.maker = str(info.name)


def jumps_within_loops(module: Any) -> bool:
    """Whether no break or continue is outside of all loops."""
    functions = module.functions.values()
    return not any(jumps_nowhere(Tree(func)) for func in functions if isinstance(func, tvm_api.PrimFunc))


def formed_but_for_threads(module: Any) -> bool:
    """Whether a module is well-formed but for what its threads say of how many there are."""
    return _well_formed(without_thread_domains(module))


def _well_formed(module: Any) -> bool:
    once = all(defines_once(Tree(func)) for func in module.functions.values() if isinstance(func, tvm_api.PrimFunc))
    return once and tvm_api.well_formed(module)


@tvm_api.tvm.ir.instrument.pass_instrument
class InputWatch:
    """Notes the passes that change the module they are given, which is held, and so not theirs alone."""

    def __init__(self, own: Sequence[str] = ()) -> None:
        self.offences: dict[str, Offence] = {}
        self._names = tvm_passes.PassNames(own)
        self._given: list[tuple[Any, int, set[tuple[str, str]]]] = []
        self._latest: tuple[Any, int] = (None, 0)

    def run_before_pass(self, module: Any, info: Any) -> None:
        self._names.begin(info)
        latest, hashed = self._latest
        # Between passes nothing changes a module; the pass around this one may have done so.
        if self._given or latest is None or not latest.same_as(module):
            hashed = tvm_api.structural_hash(module)
        self._given.append((module, hashed, _attributes(module)))

    def run_after_pass(self, module: Any, info: Any) -> None:
        name = self._names.end()
        given, hashed, attributes = self._given.pop()
        after = tvm_api.structural_hash(given)
        self._latest = (given, after)
        if after != hashed:
            where = _changed(attributes, _attributes(given))
            self.offences.setdefault(name, Offence(Check.IMMUTABILITY.value, name, "input", where))
            # A pass around it that was given the same is not to blame for that.
            changed = [one.same_as(given) and before == hashed for one, before, _ in self._given]
            self._given = [
                (one, after if its else before, had)
                for (one, before, had), its in zip(self._given, changed, strict=True)
            ]

    def found(self) -> list[Offence]:
        return list(self.offences.values())


def _attributes(module: Any) -> set[tuple[str, str]]:
    """The functions, each with "" and with the names of its attributes. No function is held: a pass may change what
    nobody holds."""
    functions = [(str(var.name_hint), func.attrs) for var, func in module.functions.items()]
    named = {(function, str(name)) for function, attrs in functions if attrs for name, _ in attrs.items()}
    return named.union((function, "") for function, _ in functions)


def _changed(before: set[tuple[str, str]], after: set[tuple[str, str]]) -> str:
    """What became of the functions of an input and their attributes, as a sentence."""
    for what, changed in (("has", after - before), ("has lost", before - after)):
        if changed:
            function, attribute = min(changed, key=lambda one: (bool(one[1]), one))
            if not attribute:
                return f"afterwards the input module {what} the function {function}"
            return f"afterwards {function} of the input module {what} the attribute {attribute}"
    return CHANGED_SOMEHOW


def offences_in(watches: Iterable[TypeWatch | InputWatch]) -> dict[str, Any]:
    """Return what watches have found as a field of a child's record; no field where that is nothing."""
    found = [asdict(offence) for watch in watches for offence in watch.found()]
    return {"offences": found} if found else {}


@tvm_api.tvm.ir.instrument.pass_instrument
class OriginWatch:
    """Notes which pass is to blame for what the pass under way is given, while that is ill-typed, or holds what an
    earlier one was there to remove. Nobody is where the passes began with ill-typed IR.

    `suspicion` is of the first pass that did not keep what later ones go by (tzerlike.tir.kept), as long as nothing was
    ill-typed. `note` is told each time that one of the two changes: the pass under way may kill the process.
    """

    def __init__(
        self, own: Sequence[str] = (), note: Callable[[Offence | None], object] = lambda offence: None
    ) -> None:
        self.offence: Offence | None = None
        self._ill_typed: Offence | None = None
        self._left: dict[str, Offence] = {}
        self._names = tvm_passes.PassNames(own)
        self._checker = TypeChecker()
        self.suspicion: Offence | None = None
        self._sound: bool | None = None
        self._functions: set[str] = set()
        self._forms: list[KeptForm | None] = []
        self._latest: tuple[int, KeptForm | None] = 0, None
        self._note = note

    def run_before_pass(self, module: Any, info: Any) -> None:
        self._names.begin(info)
        if self._sound is None:
            self._sound = self._checker.check_module(module) is None
            self._functions = _functions(module)
        self._forms.append(self._form(module))
        self._blame(self._ill_typed or self._left.get(str(info.name)))

    def run_after_pass(self, module: Any, info: Any) -> None:
        name = self._names.end()
        self._suspect(name, self._forms.pop(), self._form(module))
        # Those of a device's functions say nothing of the one that the program is.
        if tvm_api.ENTRY in _functions(module):
            self._look_at_types(name, module)
            self._hold_to_promise(name, module)
            self._blame(self._ill_typed or self._left.get(_CODE_GENERATION))

    def left_by(self, name: str) -> Offence | None:
        """What a pass has left that it is there to remove, as far as nothing after it has taken that away."""
        return next((offence for offence in self._left.values() if offence.pass_name == name), None)

    def _look_at_types(self, name: str, module: Any) -> None:
        bad = self._checker.check_module(module) if self._sound else None
        if bad is None:
            self._ill_typed = None
        elif self._ill_typed is None:
            self._ill_typed = Offence(Check.TYPES.value, name, bad.rule, bad.where, bad.place)

    def _hold_to_promise(self, name: str, module: Any) -> None:
        promise = MADE.get(name) or TRUSTED.get(name)
        if promise is None:
            return
        left = promise.broken_by(tvm_api.entry_of(module))
        before = self._left.pop(promise.trusted_by, None)
        if left is None:
            return
        if name == promise.by:
            self._left[promise.trusted_by] = Offence(LEFTOVER, name, left.rule, left.where)
        elif before is not None:
            self._left[_CODE_GENERATION] = before

    def _form(self, module: Any) -> KeptForm | None:
        """What counts of the form of a program; None where it no longer counts, or device and host are apart."""
        counts = self._sound and self._ill_typed is None and self.suspicion is None
        if not counts or tvm_api.ENTRY not in self._functions or _functions(module) != self._functions:
            return None
        hashed = tvm_api.structural_hash(module)
        if hashed != self._latest[0]:
            self._latest = hashed, form_of(tvm_api.entry_of(module))
        return self._latest[1]

    def _suspect(self, name: str, before: KeptForm | None, after: KeptForm | None) -> None:
        rule, where = ("", "") if before is None or after is None else not_kept(before, after)
        if rule:
            self.suspicion = Offence(NOT_KEPT, name, rule, where)
            self._note(self.offence)

    def _blame(self, offence: Offence | None) -> None:
        if offence != self.offence:
            self.offence = offence
            self._note(offence)


def _functions(module: Any) -> set[str]:
    return {str(var.name_hint) for var in module.functions}


WATCHES: Mapping[Check, type[TypeWatch] | type[InputWatch]] = {Check.TYPES: TypeWatch, Check.IMMUTABILITY: InputWatch}
"""What makes each of the checks."""
