"""Models in a campaign: their mutators, and the passes of Relax."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import msgspec

from tzerlike.campaign.pairs import DrawProgram, Passes, Plan
from tzerlike.core.bandit import Yields
from tzerlike.core.case import Case, ContextConfig
from tzerlike.core.errors import Fault, UserError
from tzerlike.core.mutation import Attempt, Mutant, Mutation
from tzerlike.core.observation import Observation
from tzerlike.core.targets import kind_of_target
from tzerlike.findings.faults.bundle import Occasion
from tzerlike.graph.evolve import DISRUPTIVE, EXCHANGES, LOSSES, MODEL_MUTATORS, Surroundings, mutated
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Model, model_text, read_model
from tzerlike.graph.spec import ROWS
from tzerlike.graph.steps import COMPILED, GRADIENT, IMPORT_STEPS, leading
from tzerlike.graph.stored import WITHOUT_CHECKS, WITHOUT_PLANNING, require_model
from tzerlike.graph.symbols import with_those_of
from tzerlike.graph.valid import prepared
from tzerlike.harnesses.graph.importing import IMPORTS_ORACLE, menus, require_importer, suitable_import
from tzerlike.harnesses.graph.passes import ROUND_TRIPS, Sequences, made_pass, rules_for_gradients, suited
from tzerlike.harnesses.graph.refusals import label_of
from tzerlike.passes.label import Label

_LEVEL_ZERO = '{"kind": "llvm", "opt-level": 0}'


CHECKED = 0.2
"""How many sequences come with functions that check their arguments, as they do by default."""


_UNPLANNED = 0.1
"""How many come without planning of memory, where an oracle asks for that."""


_IMPORTED = 1 / 2
"""How many sequences of an importable model begin with an import, where an oracle asks for that."""


_VALID = 7 / 8
"""How many mutants are made numerically valid, with calls fed anew that no values are found for."""

_SEED = Case("").input_seed
"""What all cases of a campaign draw their inputs by."""


def _as_drawn(model: Model) -> Model:
    return msgspec.structs.replace(model, searched=False)


class GraphPairs:
    """The pairs of a campaign on models (tzerlike.campaign.pairs)."""

    def __init__(self, names: Sequence[str], oracles: Sequence[str] = ()) -> None:
        unknown = [name for name in names if name not in {*MODEL_MUTATORS, *DISRUPTIVE, *LOSSES, *EXCHANGES}]
        if unknown:
            raise UserError(f"--mutators: no model mutator {unknown[0]!r}; there are {', '.join(MODEL_MUTATORS)}")
        self._rules = rules_for_gradients() if "model-gradients" in oracles else frozenset()
        disruptive = DISRUPTIVE if "model-refusals" in oracles else ()
        exchanges = EXCHANGES if IMPORTS_ORACLE in oracles else ()
        self.mutators = tuple(names) or (
            *MODEL_MUTATORS, *disruptive, *(LOSSES if self._rules else ()), *exchanges
        )  # fmt: skip
        self._menu = Menu(list(ROWS.values()))
        self._modes = "model-modes" in oracles
        texts = ROUND_TRIPS if "model-text" in oracles else ()
        self._sequences = Sequences((*texts, *([COMPILED.name] if self._modes else [])))
        self._imports = IMPORTS_ORACLE in oracles
        self._exchanges = menus() if set(EXCHANGES) & set(self.mutators) else ()

    def mutant(self, mutation: Mutation, program: str, donor: DrawProgram) -> Mutant:
        rng = mutation.rng
        around = Surroundings(ROWS, self._menu, rng, lambda: read_model(donor(rng)), self._rules, self._exchanges)
        found = mutated(mutation.mutator, read_model(program), around)
        if found is None:
            return Mutant(Attempt(None))
        if found.disrupted or rng.random() >= _VALID:
            return Mutant(Attempt(model_text(_as_drawn(found))))
        return Mutant(Attempt(model_text(with_those_of(prepared(found, ROWS, _SEED), found, ROWS))))

    def repeated(self, occasion: Occasion) -> Fault | None:
        return None

    def admit(self, case: Case) -> None:
        require_model(case)
        require_importer(case.passes)
        for spec in case.passes:
            if spec not in IMPORT_STEPS:
                made_pass(spec)

    def cheap(self, target: str) -> str:
        return _LEVEL_ZERO if kind_of_target(target) == "llvm" else target

    def fresh(self, rng: Random, program: str) -> Plan:
        draw = rng.random()
        config = ContextConfig() if draw < CHECKED else WITHOUT_CHECKS
        unplanned = self._modes and draw > 1 - _UNPLANNED
        passes = self._begun(self._sequences.fresh(rng), read_model(program), rng)
        return passes, WITHOUT_PLANNING if unplanned else config

    def mutate(self, passes: Passes, config: ContextConfig, rng: Random, donor: Passes, program: str) -> Plan:
        return self._begun(self._sequences.changed(passes, donor, rng), read_model(program), rng), config

    def fit(self, case: Case, program: str) -> Plan:
        model = read_model(program)
        return () if model.disrupted else self._suited(case.passes, model), case.config

    def _begun(self, passes: Passes, model: Model, rng: Random) -> Passes:
        """The same, with an import first every other time that one suits the model, where an oracle asks for that."""
        passes = self._suited(passes, model)
        if not self._imports or GRADIENT in passes:
            return passes
        step = suitable_import(model, rng) if rng.random() < _IMPORTED else None
        bare = passes[len(leading(passes)) :]
        return bare if step is None else (step, *bare)

    def _suited(self, passes: Passes, model: Model) -> Passes:
        """What of a sequence is for a model: imports where an oracle asks for them, and gradients first, where one
        does and the model has some."""
        wanted = passes if self._imports else tuple(spec for spec in passes if spec not in IMPORT_STEPS)
        return suited((GRADIENT, *wanted) if self._rules else wanted, model)

    def shrunk(self, case: Case, new_blocks: tuple[int, ...]) -> Passes:
        return tuple(spec for spec, blocks in zip(case.passes, new_blocks, strict=True) if blocks)

    def learn(self, yields: Yields) -> None:
        self._sequences.learn(yields)

    def label(self, case: Case, seen: Observation) -> Label:
        return label_of(seen.message, read_model(case.ir), seen.pass_name)
