"""The model oracles: a build's results differ from NumPy's, TVM raises on a well-typed model, a Relax pass leaves IR
that its verifier refuses.

What is judged the child has looked at (tzerlike.harnesses.graph.running).
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import reduce

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.observation import ILL_FORMED, Exit, Observation, Offence, message_template
from tzerlike.core.refused import nameless
from tzerlike.core.results import GRADIENT_OF, Results
from tzerlike.graph.importers import importer_named
from tzerlike.graph.steps import COMPILED, RAISES, READ_BACK, blames_gradients, blames_import
from tzerlike.oracles.inconsistency import manner
from tzerlike.oracles.internal_error import of_error
from tzerlike.oracles.protocol import Account
from tzerlike.passes.label import Label
from tzerlike.passes.naming import short_name

_NESTED = reduce(lambda inside, _: rf"\((?:[^()]|{inside})*\)", range(5), r"\([^()]*\)")
"""A pair of parentheses with what is in it; types of functions hold tuples of types with shapes."""

_QUOTED = (
    (re.compile(r"(?<=PrimExpr ).*?(?= in function )"), "<expression>"),
    (re.compile(r"(?<=\bbut got )\S.* [-+*/%] .*(?=\.(?:\n|$))"), "<expression>"),
    (re.compile(rf"\bR\.\w+{_NESTED}"), "<type>"),
    (re.compile(rf"(?<=\] ){_NESTED}"), "(<extent>)"),
    (re.compile(r"\b(?:(?:lv|gv|alloc|storage)\d*|\w+_adjoint\d*)\b"), "<variable>"),
    (re.compile(r"(?<=In PrimFunc )\w+ variables \([^()]*\)"), "<function> variables <variables>"),
    (re.compile(r"(?<=source layout)[A-Za-z]+"), "<layout>"),
)
"""What a message may have of the text of a model, and what stands for it."""

_OTHER_TYPES = re.compile(rf"\bR\.(?:Any|Object)\b|\bT\.Tuple{_NESTED}")


def judge_results(case: Case, observation: Observation) -> Finding | None:
    """Return the wrong-code finding of a model; what machine code, a gradient or an import has wrong is for other
    oracles."""
    results = observation.results
    if results is None or results.guilty == COMPILED.name:
        return None
    if blames_gradients(results.guilty) or blames_import(results.guilty):
        return None
    return wrong_results(case, observation)


def wrong_results(case: Case, observation: Observation) -> Finding | None:
    """Return the finding of wrong results: the pass or the operator that is at fault, and in what way.

    What is read from where nothing was written may be any number, an infinity or NaN: that makes no difference.
    """
    results = observation.results
    if results is None or not results.blame:
        return None
    guilty = (results.guilty,) if results.guilty else ()
    how = ("value" if part in ("nan", "infinity") else part for part in _manner(results))
    return Finding("wrong-code", (results.blame, *guilty, *how), case, observation)


def _manner(results: Results) -> tuple[str, ...]:
    """In what way results are wrong, or, where that is known, the gradient that they are wrong because of."""
    if results.guilty.startswith(GRADIENT_OF) and results.deed:
        return ("float", *results.deed)
    return manner(results.blamed)


def judge_errors(case: Case, observation: Observation) -> Finding | None:
    """Return the ice-on-valid finding of a model that was refused although it builds without its passes, or has
    none; an import that fails is for another oracle."""
    return None if importer_named(observation.culprit) else error_of_model(case, observation)


def error_of_model(case: Case, observation: Observation) -> Finding | None:
    """An internal error of TVM on a well-formed model that has only what TVM supports."""
    rejection = observation.rejection
    if observation.exit is not Exit.REJECTED or rejection is None or rejection.label != Label.INTERNAL_ERROR.value:
        return None
    if not (rejection.well_formed and rejection.support):
        return None
    origin = observation.origin
    of_gradient = origin is not None and blames_gradients(origin.pass_name)
    culprit = observation.pass_name if of_gradient else observation.culprit
    where, message = short_name(culprit) or observation.stage.value, _with_reason(observation.message)
    found = of_error(case, observation, (where,), message_template(message))
    if origin is not None and of_gradient:
        return replace(found, root=(origin.pass_name, _wrong_with(origin)))
    said = nameless(message_template(_without_model(message)))
    gist, root = ((where, words, *found.bare[2:]) for words in (said, _without_tuples(said)))
    marks = tuple(_without_tuples(_without_model(mark)) for mark in found.marks)
    found = replace(found, gist=gist) if gist != found.bare else found
    if (root, marks) == (gist, found.marks):
        return found
    return replace(found, root=(*root, *(mark for mark in marks if mark not in root[1])))


def _wrong_with(origin: Offence) -> str:
    """What is wrong with the gradient of an operator, without what depends on the model."""
    said = nameless(message_template(_without_model(_with_reason(origin.where))))
    return said if origin.rule == RAISES else origin.rule


def _with_reason(message: str) -> str:
    """A ScheduleError's primitive and reason in one line, which has a whole module between them."""
    found = _SCHEDULE_ERROR.match(message)
    return message if found is None else f"ScheduleError: {found[1]}: {found[2]}"


_SCHEDULE_ERROR = re.compile(
    r".*ScheduleError: An error occurred in the schedule primitive '(.*)'[\s\S]*\nError message: (.*)"
)


def _without_model(message: str) -> str:
    for pattern, word in _QUOTED:
        message = pattern.sub(word, message)
    return message


def _without_tuples(message: str) -> str:
    """Have one word for any type in a message without the text of a model: a tuple, and what is not known, too."""
    return _OTHER_TYPES.sub("<type>", message)


def judge_form(case: Case, observation: Observation) -> Finding | None:
    """Return the invalid-ir finding of the first pass that left what Relax's verifier refuses."""
    found = next((offence for offence in observation.offences if offence.check == ILL_FORMED), None)
    if found is None:
        return None
    parts = ("model-form", short_name(found.pass_name), found.rule)
    return Finding("invalid-ir", parts, case, replace(observation, offences=(found,), backtrace=()))


def called(name: str) -> str:
    """Return what people call a pass, the import of a model, or writing and reading one."""
    if importer := importer_named(name):
        return importer.function
    short = short_name(name)
    return f"{READ_BACK[short]} round trip" if short in READ_BACK else short


def account_of_form(found: Offence) -> Account:
    why, imported = "" if found.where == _UNTOLD else found.where, blames_import(found.pass_name)
    return Account(
        headline=f"{called(found.pass_name)} leaves an ill-formed module" + (f": {why}" if why else ""),
        expected="What is imported is well-formed."
        if imported
        else "After a pass, a well-formed module is still well-formed.",
        place=called(found.pass_name) if imported else found.pass_name,
        actual=f"leaves a module that Relax's verifier (`relax.analysis`) rejects{':' if why else '.'}",
        quoted=why,
    )


_UNTOLD = "its verifier refuses it"
"""What older bundles have for a reason."""
