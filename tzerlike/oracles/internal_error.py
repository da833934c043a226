"""The internal-error oracle: TVM raises without a documented reason on a program that it should compile.

No excuse: every pass had what it needs, and the message is none of TVM's documented refusals (tzerlike.passes.label).
Ought to: the program is well-formed, and its baseline build compiles or it is defined on its inputs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice, takewhile

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.frames import function_name
from tzerlike.core.observation import Exit, Frame, Observation, Stage, message_template
from tzerlike.core.refused import failed_check, nameless, refusal_in
from tzerlike.core.results import Ending
from tzerlike.passes.facts import facts_of
from tzerlike.passes.label import Label, documented
from tzerlike.passes.naming import short_name
from tzerlike.systems import under_test

TOP_FRAMES = 3

_NODE = re.compile(r"(\w+)Node\b")


def judge_internal_error(case: Case, observation: Observation) -> Finding | None:
    """Return the ice-on-valid finding of a case that was refused, or whose baseline build was."""
    rejection, results = observation.rejection, observation.results
    if observation.exit is Exit.REJECTED and rejection is not None:
        internal = rejection.label == Label.INTERNAL_ERROR.value
        if not (internal and rejection.well_formed and rejection.support):
            return None
        where = short_name(observation.culprit) or observation.stage.value
        return of_error(case, observation, (where,), message_template(observation.message))
    if results is not None and results.defined and results.baseline.ending is Ending.REFUSED:
        message = results.baseline.message
        if not documented(message, facts_of(case.ir)):
            where, said = Stage.BUILD_BASELINE.value, message_template(message)
            bare = (where, nameless(said))
            return Finding("ice-on-valid", (where, said), case, observation, marks=_marks(message, ()), bare=bare)
    return None


def of_error(case: Case, seen: Observation, where: tuple[str, ...], said: str) -> Finding:
    """Return the ice-on-valid finding of an error that TVM raised `where` it did: what it `said`, and from where."""
    named = tuple(frame._replace(function=function_name(frame.function)) for frame in seen.backtrace)
    # A function that calls itself, or hands over to its overload, is one place.
    names = tuple(dict.fromkeys(frame.function for frame in under_test().code.telling(named)))
    frames = names[:TOP_FRAMES]
    parts, bare = (*where, said, *frames), (*where, nameless(said), *frames)
    marks, identity = _marks(seen.message, seen.backtrace), _in_analysis(seen.refusal, names)
    node = _visited(named)
    place = (*bare[: -len(frames)], *marks, node) if node else ()
    return Finding("ice-on-valid", parts, case, seen, marks=marks, bare=bare, identity=identity, place=place)


def _visited(frames: Sequence[Frame]) -> str:
    """What kind of node a pass was at, where no function has a name but the visitor's: how it came there says nothing
    of the cause. Empty elsewhere."""
    code = under_test().code
    nodes = (re.search(code.visit, frame.function) for frame in frames)
    if not all(frame.function.startswith(code.visitors) for frame in frames):
        return ""
    return next((node[1] for node in nodes if node), "")


def _in_analysis(message: str, names: Sequence[str]) -> tuple[str, ...]:
    """What failed and where in the analyzer, up to where a simplifier or a pass asked it; empty elsewhere."""
    code = under_test().code
    inside = takewhile(lambda name: re.match(code.analysis, name) and not re.fullmatch(code.simplifiers, name), names)
    frames = tuple(islice(inside, TOP_FRAMES))
    return (failed_check(message), *frames) if frames else ()


def _marks(message: str, backtrace: Sequence[Frame]) -> tuple[str, ...]:
    """What the parts leave out: the end of a condition, a second line, and which overload of a visitor raised."""
    said = refusal_in(message)
    whole = said.condition or said.words
    deepest = next(iter(under_test().code.telling(backtrace)), Frame("", "")).function
    return (*([] if whole in message_template(message) else [whole]), *_NODE.findall(deepest))
