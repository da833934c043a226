"""What it takes to show a finding: by its tier, and by how its case differs from a default build."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tzerlike.core.case import GRAPH
from tzerlike.core.finding import FIRST_TIER, SECOND_TIER
from tzerlike.core.observation import Stage
from tzerlike.core.targets import kind_of_target, target_options
from tzerlike.findings.issue.layout import code
from tzerlike.findings.issue.oddities import huge_extent
from tzerlike.findings.issue.pytest_file import UNCHANGED
from tzerlike.findings.issue.subject import Subject
from tzerlike.graph.importers import importer_in
from tzerlike.graph.steps import COMPILED, GRADIENT, IMPORT_STEPS, leading
from tzerlike.oracles.documented import is_documented
from tzerlike.tir.plain import odd_in

_FEW = 4
"""Passes, or options, that a sentence names."""

_USUAL_LEVEL = 2
"""What TVM's PassContext has where nobody says otherwise: a higher level adds no pass of tensor IR."""

_LAMBDA_LIFT, _LIFTED = "relax.LambdaLift", "relax.transform.LambdaLift()("


def only_with(subject: Subject) -> str:
    """What it takes that no default build has, as a sentence for the start of a report; "" where that is nothing.

    A reader who tries the program alone would see nothing wrong. Nobody has tried less where it is not reduced.
    """
    case, seen = subject.case, subject.seen
    if seen.stage in (Stage.TEXT, Stage.MUTATE, Stage.LOAD) or subject.tier == FIRST_TIER:
        return ""
    if UNCHANGED in subject.test:
        # The pass itself, outside of any pipeline, is enough.
        return ""
    if seen.is_of_baseline:
        return f"Only seen in the baseline build: {subject.baseline}."
    where = "before the default pipeline" if case.config.pipeline == "default" else "in place of the default pipeline"
    passes, options = _passes(subject), list(_options(subject))
    needed = [
        *([f"with {_listed(passes, 'passes')} run {where}"] if passes else []),
        *([f"with the option{'s' * (len(options) > 1)} {_listed(options, 'options')}"] if options else []),
    ]
    if not passes and case.config.pipeline != "default":
        needed.insert(0, "without the default pipeline")
    return f"{'Only seen' if subject.is_reduced else 'Seen'} {', and '.join(needed)}." if needed else ""


def takes(subject: Subject) -> str:
    """The last sentence of a report: that nothing special is needed, or what is, where `only_with` says nothing."""
    case, seen = subject.case, subject.seen
    if seen.stage is Stage.TEXT or subject.tier not in (FIRST_TIER, SECOND_TIER):
        return ""
    if seen.stage is Stage.MUTATE:
        if subject.tier == FIRST_TIER:
            return "The calls above take arguments of the documented types."
        return "The documented example of the primitive has the same defect." if is_documented(subject.finding) else ""
    if subject.tier == FIRST_TIER:
        lifted = ", behind `LambdaLift`, which closures need," * (_LIFTED in subject.test)
        if any(spec.name != _LAMBDA_LIFT for spec in case.passes[len(leading(case.passes)) :]):
            return f"The passes are those of a pipeline that TVM ships{lifted.rstrip(',')}."
        if UNCHANGED in subject.test:
            return "The pass is one of the default pipeline."
        if seen.culprit == GRADIENT.name:
            return "`relax.transform.Gradient` alone shows it."
        if GRADIENT in case.passes:
            return f"The default pipeline with default options, behind `relax.transform.Gradient`{lifted}, shows it."
        if importer := importer_in(case.passes):
            asked = importer.options.get(importer.manners[case.passes[0]].way)
            return f"`{importer.function}` with {code(asked) if asked else 'default options'} shows it."
        return f"The default pipeline with default options{lifted} shows it."
    if only_with(subject):
        return ""
    if case.harness == GRAPH or (subject.finding.kind in ("hang", "oom") and huge_extent(subject.script)):
        return ""
    odd = _odd_in_words(odd_in(case.ir, threads=kind_of_target(case.target) == "cuda"))
    return f"{'Only seen' if subject.is_reduced else 'Seen'} with {odd}." if odd else ""


def _odd_in_words(odd: str) -> str:
    """What is unusual about a program, "" where it has no name."""
    if odd.startswith("memory "):
        return f"memory of scope {code(odd.removeprefix('memory '))} in the program"
    if odd.startswith("attribute "):
        return f"the attribute {code(odd.removeprefix('attribute '))}"
    if odd == "a thread binding":
        return "loops bound to threads, which this target does not support"
    if " " in odd or not odd:
        return ""
    return f"{code(odd)} in the program" if "." in odd else f"the annotation {code(odd)}"


def _passes(subject: Subject) -> list[str]:
    """The passes that run before the pipeline; some of a model go by names of ours, its script has TVM's."""
    names = [spec.name for spec in subject.case.passes]
    if subject.case.harness != GRAPH:
        return [code(name) for name in names]
    called = _STEP.findall(subject.test or subject.repro) or [name for name in names if name not in _STEPS]
    return [*map(code, called), *(_STEPS[name] for name in names if _STEPS.get(name))]


_STEPS = {
    COMPILED.name: "",
    **{step.name: "" for step in IMPORT_STEPS},
    "relax.ThroughText": "a round trip through TVMScript",
    "relax.ThroughJson": "a round trip through JSON",
}
"""Steps of a model that are no passes, as a sentence has them; "" for an option, and for what makes the program."""

_STEP = re.compile(r"^ +mod(?:ule)? = (relax\.transform\.(?!BindParams\b|LambdaLift\b)\w+)\(", re.MULTILINE)


def _options(subject: Subject) -> Iterable[str]:
    """Options that differ from the defaults, those of the PassContext first, as far as the scripts have them."""
    case, config, text = subject.case, subject.case.config, subject.test or subject.repro
    if config.opt_level < _USUAL_LEVEL:
        yield code(f"opt_level={config.opt_level}")
    if COMPILED in case.passes:
        yield code('exec_mode="compiled"')
    yield from (code(name) for name, _ in config.options if name in text or not text)
    yield from (code(f"disabled_pass={name}") for name in config.disabled_passes)
    level = target_options(case.target).get("opt-level")
    if level is not None and ("opt-level" in text or not text):
        yield code(f"opt-level={level}")


def _listed(names: list[str], what: str) -> str:
    """The first few names, and how many more there are."""
    if len(names) > _FEW + 1:
        return f"{', '.join(names[:_FEW])} and {len(names) - _FEW} other {what}"
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
