"""Oracles judge the compiler's behavior. An oracle is a file or a package here, and a row in the table.

The literal table of oracles; `--oracles` takes its names, and `plugin:name` for one of a plug-in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tzerlike.core.case import GRAPH, TIR, Case
from tzerlike.core.config import DEFAULT_ORACLES
from tzerlike.core.effort import Check, Effort
from tzerlike.core.errors import UserError
from tzerlike.core.finding import Finding, Signed
from tzerlike.core.observation import Exit, Observation
from tzerlike.graph.importers import TORCH
from tzerlike.oracles import (
    crash,
    metamorphic,
    model_gradients,
    model_imports,
    model_refusals,
    model_steps,
    models,
    performance,
    primitives,
    round_trip,
)
from tzerlike.oracles.ill_typed import account_of_ill_typed, judge_ill_typed
from tzerlike.oracles.immutability import account_of_changed_input, judge_immutability
from tzerlike.oracles.inconsistency import judge_inconsistency
from tzerlike.oracles.internal_error import judge_internal_error
from tzerlike.oracles.proof import judge_proof
from tzerlike.oracles.protocol import Account, Environment, Judge, Oracle, Probe
from tzerlike.plugins import extended, load_plugin

ORACLES: dict[str, Oracle] = {
    "crash": Oracle(crash.judge_crash, probe=crash.PROBE),
    "inconsistency": Oracle(judge_inconsistency, frozenset({Check.RESULTS}), harness=TIR),
    "internal-error": Oracle(judge_internal_error, frozenset({Check.REJECTIONS, Check.DEVICE_SOURCE}), harness=TIR),
    "performance": Oracle(
        performance.judge_performance, frozenset({Check.RESULTS, Check.SPEED}), performance.PROBE, harness=TIR
    ),
    "roundtrip": Oracle(round_trip.judge_round_trip, probe=round_trip.PROBE, harness=TIR),
    "ill-typed": Oracle(judge_ill_typed, frozenset({Check.TYPES}), harness=TIR, account=account_of_ill_typed),
    "immutability": Oracle(
        judge_immutability, frozenset({Check.IMMUTABILITY}), harness=TIR, account=account_of_changed_input
    ),
    "primitives": Oracle(primitives.judge_primitives, probe=primitives.PROBE, harness=TIR),
    "metamorphic": Oracle(metamorphic.judge_metamorphic, probe=metamorphic.PROBE, harness=TIR),
    "model-results": Oracle(models.judge_results, frozenset({Check.RESULTS}), harness=GRAPH),
    "model-errors": Oracle(models.judge_errors, frozenset({Check.REJECTIONS, Check.DEVICE_SOURCE}), harness=GRAPH),
    "model-form": Oracle(models.judge_form, frozenset({Check.TYPES}), harness=GRAPH, account=models.account_of_form),
    "model-types": Oracle(
        model_steps.judge_signatures,
        frozenset({Check.SIGNATURES}),
        harness=GRAPH,
        account=model_steps.account_of_signature,
    ),
    "model-input": Oracle(judge_immutability, frozenset({Check.IMMUTABILITY}), harness=GRAPH),
    "model-text": Oracle(model_steps.judge_texts, harness=GRAPH, account=model_steps.account_of_text),
    "model-refusals": Oracle(model_refusals.judge_refusals, harness=GRAPH, account=model_refusals.account_of_refusal),
    "model-gradients": Oracle(model_gradients.judge_gradients, frozenset({Check.RESULTS}), harness=GRAPH),
    "model-imports": Oracle(
        model_imports.judge_imports,
        frozenset({Check.RESULTS, Check.REJECTIONS}),
        harness=GRAPH,
        loads=frozenset({TORCH.package}),
    ),
    "model-modes": Oracle(model_steps.judge_modes, frozenset({Check.RESULTS}), harness=GRAPH),
    "proof": Oracle(judge_proof, harness="arith"),
}

_OF_MODELS = ("model-results", "model-errors", "model-form")
"""Oracles of models where none are named."""


def make_oracles(names: Sequence[str], harness: str = "") -> tuple[Judge, ...]:
    """Return how the named oracles judge; UserError that lists the known ones for a name that is none of them.

    UserError too for one that does not understand the cases of `harness`, where that is named.
    """
    oracles = _named(names)
    for name, oracle in zip(names, oracles, strict=True):
        if harness and oracle.harness not in ("", harness):
            raise UserError(f"--oracles: {name!r} has no meaning with --harness {harness}")
    return tuple(oracle.judge for oracle in oracles)


def owns_oracles(harness: str, names: Sequence[str]) -> bool:
    """Whether all of the named oracles are of that harness alone; UserError as make_oracles."""
    return all(oracle.harness == harness for oracle in _named(names))


def default_oracles(harness: str) -> tuple[str, ...]:
    """Return those of DEFAULT_ORACLES that understand the cases of a harness, and for models three of their own."""
    own = _OF_MODELS if harness == GRAPH else ()
    return (*(name for name in DEFAULT_ORACLES if ORACLES[name].harness in ("", harness)), *own)


def missing_for(name: str, lacks: Mapping[str, str]) -> str:
    """Why an oracle has no meaning on a system that lacks something (tzerlike.systems.lacking), "" where it has one."""
    oracle = _named([name])[0]
    wanted = (name, oracle.harness, *sorted(check.value for check in oracle.needs))
    return next((lacks[feature] for feature in wanted if feature in lacks), "")


def judged(judges: Sequence[Judge], case: Case, seen: Observation) -> list[Finding]:
    """Return what is found in an observation, in the order of `judges`.

    A case that tried what it may not is nobody's finding, whatever it did before.
    """
    if seen.exit is Exit.CONFINED:
        return []
    found = [judge(case, seen) for judge in judges]
    several = [[] if one is None else one if isinstance(one, Sequence) else [one] for one in found]
    return [finding for findings in several for finding in findings]


def effort_for(names: Sequence[str], baseline: str = "") -> Effort:
    """Return the effort that the named oracles take, compared with a baseline; UserError as make_oracles."""
    return Effort(frozenset().union(*(oracle.needs for oracle in _named(names))), baseline=baseline)


def loads_for(names: Sequence[str]) -> frozenset[str]:
    """Return the packages that children are to find loaded for the named oracles; UserError as make_oracles."""
    return frozenset().union(*(oracle.loads for oracle in _named(names)))


def probes_for(names: Sequence[str]) -> tuple[Probe, ...]:
    """Return the probes of the named oracles; UserError as make_oracles."""
    return _probes(_named(names))


def probe_of(finding: Signed, seen: Observation, environment: Environment) -> Probe | None:
    """Return the probe that a bundle is of, by what its files say; None where it is of a compilation.

    UserError where that takes a plug-in that is not installed.
    """
    listed = environment.get("oracles")
    others = [name for name in listed if isinstance(name, str) and ":" in name] if isinstance(listed, list) else []
    probes = _probes([*ORACLES.values(), *_named(others)])
    return next((probe for probe in probes if probe.owns(finding, seen, environment)), None)


def account_of(finding: Signed, seen: Observation, environment: Environment) -> Account:
    """Return what the oracle of a finding has to say of it in a report."""
    probe = probe_of(finding, seen, environment)
    if probe is not None:
        return probe.account(finding, seen, environment)
    oracle = ORACLES.get(finding.parts[0]) if finding.kind == "invalid-ir" and seen.offences else None
    return Account() if oracle is None or oracle.account is None else oracle.account(seen.offences[0])


def _probes(oracles: Iterable[Oracle]) -> tuple[Probe, ...]:
    return tuple(oracle.probe for oracle in oracles if oracle.probe is not None)


def _named(names: Sequence[str]) -> list[Oracle]:
    listed = dict.fromkeys(name.partition(":")[0] for name in names if ":" in name)
    table = extended("oracle", ORACLES, {plugin: load_plugin(plugin, "--oracles").oracles for plugin in listed})
    for name in names:
        if name not in table:
            raise UserError(f"--oracles: no oracle {name!r}; there are {', '.join(table)}")
    return [table[name] for name in names]
