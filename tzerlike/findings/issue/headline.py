"""The title of an issue: what is wrong and where, in one line, from all that is known of a finding."""

from __future__ import annotations

import re

from tzerlike.core.case import GRAPH
from tzerlike.core.observation import Observation, Offence, Stage
from tzerlike.core.results import DEFAULT_PIPELINE, GRADIENT_OF, Ending
from tzerlike.findings.issue.layout import telling_names
from tzerlike.findings.issue.messages import first_line, never_computed, reason
from tzerlike.findings.issue.oddities import (
    allocated_inside,
    bare_buffer,
    called_operators,
    has_mixed_shape,
    huge_extent,
    makes_closures,
    mixed_strides,
    most_called,
    rare_names,
    symbolic_thread,
    telling_argument,
    unusual_block,
    unusual_dtype,
)
from tzerlike.findings.issue.results import blamed, due_to, slower_in_short, wrong_in_short
from tzerlike.findings.issue.subject import Subject
from tzerlike.findings.issue.titles import TITLE_LENGTH, title
from tzerlike.graph.importers import importer_named
from tzerlike.graph.steps import RAISES, READ_BACK, WRONG_SHAPE, blames_gradients, in_tvms_words
from tzerlike.oracles import account_of, ill_typed
from tzerlike.oracles.crash import SANITIZER
from tzerlike.oracles.models import called
from tzerlike.oracles.protocol import Account
from tzerlike.oracles.round_trip import marked
from tzerlike.passes.naming import short_name
from tzerlike.plugins import harness_named
from tzerlike.systems import under_test

REFUSED_SOURCE = "SourceRefused: the CUDA compiler says "
"""What our question to a CUDA compiler has in front of its answer."""


def _at_work(subject: Subject) -> str:
    """What people call the step that was at work, an importer with the operators that it was given; "" for none."""
    named = called(subject.seen.pass_name)
    operators = called_operators(subject.script) if importer_named(subject.seen.pass_name) else []
    return f"{named} of {' and '.join(operators)}" if operators else named


def headline(subject: Subject) -> str:
    """Return the title of the issue: what is wrong and where, in one line."""
    return in_tvms_words(_headline(subject))


def _headline(subject: Subject) -> str:
    seen, kind, account = subject.seen, subject.finding.kind, account_for(subject)
    place = account.place or _at_work(subject) or working_step(subject)
    of_gradient = seen.origin is not None and blames_gradients(seen.origin.pass_name)
    if account.headline:
        text = _of_text(account.headline, subject.script) if seen.stage is Stage.TEXT else account.headline
    elif kind == "wrong-code":
        culprit = (subject.guilt.guilty if subject.guilt else "") or (
            seen.results.guilty if seen.results else account.place
        )
        due = f" ({account.place or due_to(culprit, subject.case)})" if culprit and culprit != DEFAULT_PIPELINE else ""
        if due and seen.results is not None and seen.results.misled:
            due = f"{due[:-1]}, {short_name(seen.results.misled[0])})"
        ran = blamed(subject)
        text = f"Wrong code{due}: {wrong_in_short(ran)}{_at(subject) if ran.ending is Ending.DIED and not due else ''}"
    elif seen.origin is not None and of_gradient:
        text = f"{_of_gradient(seen.origin)}: {reason(seen.refusal)}"
    elif seen.origin is not None:
        verb = "crashes" if kind == "crash" else "fails"
        where = left(seen.origin)
        text = f"{short_name(seen.culprit)} leaves IR that {_failing(place)} {verb} on: {where or 'it is ill-formed'}"
        if not where and seen.refusal:
            text = f"{short_name(seen.culprit)} leaves ill-formed IR: {reason(seen.refusal)}"
    elif kind == "crash":
        on = symbolic_thread(subject.script) or _visiting(seen) or _at(subject) or _on_block(subject)
        what = place
        if seen.stage is Stage.LOAD and len(operators := called_operators(subject.script)) == 1:
            what, on = operators[0], " on symbolic extents" * ("tirx.Var(" in subject.script)
        text = f"{what} crashes ({death(subject)}){on}"
    elif kind == "ice-on-valid":
        if REFUSED_SOURCE in seen.refusal:
            place = "CUDA source"
            text = f"CUDA source does not compile: {first_line(seen.refusal).partition(REFUSED_SOURCE)[2]}"
        elif (text_of := READ_BACK.get(short_name(seen.pass_name))) and "(" in (piece := marked(seen.refusal)):
            text = f"{text_of} is not parsed back: {piece}"
        else:
            defined = seen.rejection is not None and seen.rejection.support == "defined"
            text = f"{place} fails: {(defined and never_computed(seen.refusal)) or reason(seen.refusal)}"
            if own := allocated_inside(seen.refusal, subject.script):
                text = f"{place} overlooks that a block allocates {own}"
    else:
        most, huge = most_called(subject.script), huge_extent(subject.script)
        on_extent = f" on an extent of {huge}" * bool(huge)
        text = {
            "hang": f"{place} {_without_end(seen)}{_at(subject) or (most and f' on {most}') or on_extent}",
            "oom": f"{place} runs out of memory{on_extent or _on_operators(subject)}",
            "slow-code": slower_in_short(subject),
        }.get(kind, subject.finding.title)
    label, short = harness_named(subject.case.harness).label, _in_short(place, subject)
    # Of a model that may get smaller still, nobody knows whether its dtype matters.
    within = unusual_dtype(subject.script) if subject.case.harness == GRAPH and subject.is_reduced else ""
    on = "" if of_gradient else f"{_on_operators(subject)}{within and f' in {within}'}"
    told = text.replace(" fails: ", f" fails{on}: ", 1)
    named = title(
        label, re.sub(r"^CUDA source(?= does not compile: )", f"CUDA source{_for_what(subject)}", told), short
    )
    # Why something fails comes before what it fails on.
    named = named if ": " in named else title(label, text, short)
    if has_mixed_shape(subject.script):
        named = named.replace(" on indices of ", " on a shape of ")
    block = (_on_block(subject) or mixed_strides(subject.script)) if kind == "ice-on-valid" else ""
    if block and block not in named and _says_little(named, reason(seen.refusal)):
        return title(label, f"{place} raises {seen.refusal.partition(':')[0]}{block}", short)
    return _with_argument(named, subject.script) if subject.is_reduced else named


def _with_argument(named: str, script: str) -> str:
    """A title with the argument of the operator that it names, where there is one that matters, and room for it."""
    for operator in called_operators(script):
        argument = telling_argument(script, operator)
        space, _, short = operator.rpartition(".")
        name = rf"(?:{re.escape(space)}\.)?{re.escape(short)}"
        named_as = re.search(rf"(?<= on ){name}\b|`{name}`|(?<=\(){name}(?=\))", named)
        if argument and named_as is not None:
            whole = f"{named[: named_as.end()]} with {argument}{named[named_as.end() :]}"
            return whole if len(whole) <= TITLE_LENGTH else named
    return named


def _without_end(seen: Observation) -> str:
    """What something is known to do that was still running: that it never ends takes more than one look."""
    return "hangs" if seen.message.startswith("does not end") else f"takes over {seen.elapsed:.0f} s"


def _of_gradient(origin: Offence) -> str:
    """What is wrong with the gradient of an operator, on which TVM fails."""
    named = f"Gradient of `{origin.pass_name.removeprefix(GRADIENT_OF)}`"
    return f"{named} has a wrong shape" if origin.rule == WRONG_SHAPE else f"{named} fails"


def _of_text(headline: str, script: str) -> str:
    """What does not come back from its text: an element that is read, where TVM prints it as the buffer."""
    stated, _, piece = headline.partition(": ")
    if read := bare_buffer(piece.rpartition(" = ")[2], script):
        return f"{stated}: {_printed_as(read)}"
    if "T.float64(" in script:
        headline = re.sub(r"\bLiteral (?:value \S+ )?(?=exceeds m\w+ of float32)", "T.float64 ", headline)
    stored = bare_buffer(piece, script)
    return headline + (f" for {stored} of shape (1,)" if stored else "")


def _printed_as(buffer: str) -> str:
    return f"{buffer}[0] of shape (1,) is printed as {buffer}"


def _says_little(titled: str, why: str) -> bool:
    """Whether a title has but the condition of a check, or part of a sentence, of `why` something failed."""
    part = titled.rpartition(": ")[2]
    return why.startswith("check ") or (part in why and why.partition(part)[2].startswith(" "))


def _for_what(subject: Subject) -> str:
    """The one function that CUDA source is generated for in a program and in few others."""
    named = [name for name in rare_names(subject.script) if name.startswith(("T.", "assert"))]
    return f" for {named[0]}" if len(named) == 1 else ""


def _on_operators(subject: Subject) -> str:
    """The operators of a model that calls few, unless what is said names one; where a check has no words, the block
    that a primitive was given, the node that cannot be made, or the function that it stands in, and what few programs
    have where it is one of code generation."""
    wordless = reason(subject.seen.refusal).startswith("check ")
    inner = next(iter(telling_names(subject.seen.backtrace)), "") if wordless else ""
    if wordless and (block := _on_block(subject)):
        return block
    if importer_named(subject.seen.pass_name):
        return ""
    if subject.case.harness == GRAPH:
        if makes_closures(subject.script):
            return " on a closure"
        named = called_operators(subject.script, reduced=subject.is_reduced)
        if not named and subject.is_reduced and "(private=True)" in subject.script:
            return " on a private function"
    elif made := _MADE.match(inner):
        named = [made[1]]
    elif subject.seen.pass_name and "::" in inner:
        return f" in {inner.rpartition('::')[2]}"
    else:
        named = rare_names(subject.script) if wordless and not subject.seen.pass_name else []
    said = any(name.rpartition(".")[2] in subject.seen.refusal for name in named)
    return "" if said or not named else f" on {' and '.join(named)}"


def _on_block(subject: Subject) -> str:
    """What is unusual about the block that a schedule primitive fails on."""
    return unusual_block(subject.script) if subject.seen.stage is Stage.MUTATE else ""


_MADE = re.compile(r"(?:\w+::)+(\w+)::\1$")
"""A constructor."""

STAGE_NAMES = {
    Stage.LOAD: "Loading a module",
    Stage.PASSES: "A pass",
    Stage.BUILD: "Code generation",
    Stage.COMPILE_DEVICE: "Code generation",
    Stage.BUILD_BASELINE: "Code generation in the baseline build",
}

BUILDER = "BlockBuilder"
"""What makes a model before there is a module to load."""


def working_step(subject: Subject) -> str:
    """What was at work where no pass was."""
    if subject.case.harness == GRAPH and subject.seen.stage is Stage.LOAD:
        return BUILDER
    return STAGE_NAMES.get(subject.seen.stage, "the compiler")


def _failing(place: str) -> str:
    """What fails, in the middle of a sentence."""
    return "code generation" if place == STAGE_NAMES[Stage.BUILD] else place


def _in_short(place: str, subject: Subject) -> str:
    """What failed in which function of TVM's, where what it says is too long for a title."""
    if subject.finding.kind == "invalid-ir":
        return account_for(subject).headline.partition(": ")[0]
    origin = subject.seen.origin
    if origin is not None and blames_gradients(origin.pass_name):
        return _of_gradient(origin) + (_inside(subject) if origin.rule == RAISES else "")
    if origin is not None:
        fails = "crashes" if subject.finding.kind == "crash" else "fails"
        return f"{short_name(subject.seen.culprit)} leaves IR that {_failing(place)} {fails} on"
    if place == "CUDA source":
        return "CUDA source does not compile"
    verb = {"crash": "crashes", "ice-on-valid": "fails a check"}.get(subject.finding.kind, "leaves wrong IR")
    if subject.seen.stage is Stage.TEXT:
        pieces = (line.rpartition(" = ")[2] for line in subject.seen.message.splitlines())
        read = next(filter(None, (bare_buffer(piece, subject.script) for piece in pieces)), "")
        return f"TVMScript is not parsed back: {_printed_as(read)}" if read else "TVMScript does not round-trip"
    return f"{place} {verb}{_inside(subject)}"


def _inside(subject: Subject) -> str:
    """The innermost function of TVM's that a backtrace names."""
    named = (line for line in telling_names(subject.seen.backtrace) if "::" in line)
    inner = next(named, "").removeprefix("tvm::")
    return f" in {inner}" if inner else ""


def account_for(subject: Subject) -> Account:
    """What the oracle of a finding tells of it."""
    return account_of(subject.finding, subject.seen, {**subject.environment, **subject.held})


def death(subject: Subject) -> str:
    """How the process died, in few words."""
    seen = subject.seen
    if seen.stack_overflow:
        return f"stack overflow, {seen.depth} frames deep" if seen.depth else "stack overflow"
    if seen.message.startswith(SANITIZER):
        return first_line(seen.message)
    name, _, words = " ".join(seen.message.split()).partition(" ")
    # Only what ends in abort() says why; the last words of others are any warning that went before.
    words = words.removeprefix("what():").strip()
    if name == "SIGABRT" and words:
        return f"{name}: {words.rstrip(' :')}"
    return name or "the process dies"


def left(origin: Offence) -> str:
    """What is wrong with the program that a pass leaves, as what it has."""
    said = ill_typed.wrong_in_words(first_line(origin.where))
    for stored, told in _LEFT:
        said = re.sub(stored, told, said)
    return said


_LEFT = (
    (r"^a group of operators that calls none$", "a fused function that calls no operator"),
    (r"^\w* ?does not declare ", "a block that does not declare "),
    (
        r"^(\w+) of ([\w.]+), which meant ([\w.]+) and means nothing$",
        r"\1 of the block \2, whose index no longer stands for \3",
    ),
    (
        r"^(\w+) of ([\w.]+), which meant ([\w.]+) and means ([\w.]+)$",
        r"\1 of the block \2, whose index now stands for \4, not \3",
    ),
    (r"^Relax that its verifier refuses$", "ill-formed Relax"),
)
"""What observations say of the program that a pass leaves, and how a report says it."""


def _at(subject: Subject) -> str:
    """The first function of TVM's that a backtrace names, where the failing step has no name of its own."""
    if subject.seen.pass_name or account_for(subject).place:
        return ""
    named = (line for line in telling_names(subject.seen.backtrace) if "::" in line)
    inner = next(named, "").rpartition("tvm::")[2]
    if inner:
        return f" in {inner}"
    rare = rare_names(subject.script) or called_operators(subject.script)
    return f": program with {' and '.join(rare)}" if rare else ""


def _visiting(seen: Observation) -> str:
    """The kind of node that a visitor without a name in the library was at when the process died."""
    inner, above = [*(frame.function for frame in seen.backtrace[:2]), "", ""][:2]
    visit = None if "::" in inner else re.search(under_test().code.visit, above)
    return "" if visit is None else f" on {visit[1]}"
