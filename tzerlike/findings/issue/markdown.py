"""The report of a finding as an issue, under the headings of TVM's own form for bug reports."""

from __future__ import annotations

import re

from tzerlike.core.case import GRAPH, TIR
from tzerlike.core.effort import Check
from tzerlike.core.observation import ILL_FORMED, LEFTOVER, NOT_KEPT, Exit, Observation, Offence, Stage
from tzerlike.core.results import GRADIENT_BY, Ending
from tzerlike.core.targets import arch_of_target, kind_of_target
from tzerlike.core.untrusted import one_line
from tzerlike.findings.issue.calls import plain_calls
from tzerlike.findings.issue.headline import (
    BUILDER,
    REFUSED_SOURCE,
    STAGE_NAMES,
    account_for,
    death,
    headline,
    left,
    working_step,
)
from tzerlike.findings.issue.labels import labels
from tzerlike.findings.issue.layout import code, cut, environment_lines, fenced, found_by, trace, triage
from tzerlike.findings.issue.listing import pasted
from tzerlike.findings.issue.messages import MESSAGE_LINES, compiler_words, quotable
from tzerlike.findings.issue.numbers import bound, short_number, short_numbers
from tzerlike.findings.issue.oddities import allocated_inside, bare_buffer, makes_closures
from tzerlike.findings.issue.opening import by_calls, calls_shown, program_first, test_first, whole_test, with_schedule
from tzerlike.findings.issue.results import blamed, results_in_words, speeds_in_words, spelled, wrong_place
from tzerlike.findings.issue.steps import steps
from tzerlike.findings.issue.subject import CHANGED, DTYPES_SHOWN, OPERATORS_SHOWN, TYPES_SHOWN, Guilt, Subject
from tzerlike.findings.issue.takes import only_with, takes
from tzerlike.graph.importers import importer_in, importer_named
from tzerlike.graph.steps import READ_BACK, WRONG_SHAPE, blames_gradients, in_tvms_words
from tzerlike.oracles.crash import SANITIZER
from tzerlike.oracles.metamorphic import OTHER_VALUES, PADDING
from tzerlike.passes.facts import facts_of
from tzerlike.passes.naming import short_name
from tzerlike.passes.preconditions import legal, rule_of
from tzerlike.systems.refusal import lacks_memory
from tzerlike.tir.witness.verdict import WitnessWord

_DIFF_LINES = 60
_SHORT_DIFF = 12
"""Lines of a diff whose long lines are shown for the most part."""

_TYPE = 600
"""Characters of a type that are shown."""

_TARGET = re.compile(r"(\"target\": )T\.target\((?:[^()]|\([^()]*\))*\)")
"""The target among the attributes of a function, long and seldom changed."""

_LOSSY = "TVM prints this program as below, but parsing that text does not give the program back."

_NOT_COMPILED = "The CUDA source that TVM generates does not compile:"


def report(subject: Subject) -> str:
    """Return the text of report.md."""
    program, test = program_first(subject), test_first(subject)
    head = pasted(subject.script) if program else whole_test(subject) if test else ""
    needed, calls = only_with(subject), calls_shown(subject)
    if program and calls:
        head = with_schedule(head, calls, printed=bool(account_for(subject).diff))
    parts = [
        [f"# {headline(subject)}"],
        *([[needed]] if needed else []),
        *([fenced(head, "python")] if head else []),
        *(
            [[_LOSSY, "", *fenced(pasted(subject.script), "python")]]
            if test and by_calls(subject.test) and pasted(subject.script)
            else []
        ),
        ["### Expected behavior", "", _expected(subject)],
        *(
            [["The inputs, and what they should become:", "", *fenced(subject.inputs)]]
            if program and _ran(subject)
            else []
        ),
        ["### Actual behavior", "", *_actual(subject)],
        *([_guilt(guilt)] if (guilt := _guilty(subject)) is not None else []),
        ["### Environment", "", *environment_lines(subject.environment, _target(subject))],
        ["### Steps to reproduce", "", *steps(subject)],
        triage(labels(subject, account_for(subject).place)),
        [found_by(subject.environment, subject.finding.signature, subject.runs, subject.same, takes(subject))],
    ]
    return in_tvms_words("\n\n".join("\n".join(part) for part in parts) + "\n")


def _target(subject: Subject) -> str:
    """What the case was compiled for: a reader has the program alone before their eyes."""
    target = subject.case.target
    kind = kind_of_target(target)
    return f"{kind} {arch_of_target(target)}" if kind == "cuda" else kind


def _expected(subject: Subject) -> str:
    kind = subject.finding.kind
    if expected := account_for(subject).expected:
        return expected
    if text := READ_BACK.get(short_name(subject.seen.pass_name)):
        return f"A module that is written as {text} is read back."
    if kind == "ice-on-valid":
        does = "imports the model" if importer_named(subject.seen.pass_name) else "compiles the program"
        why = _why_valid(subject)
        return f"TVM {does}. {why[0].upper()}{why[1:]}."
    if kind == "wrong-code":
        difference = blamed(subject).difference
        value = _well_behaved(subject)
        if difference is not None and difference.nature != "outside":
            off = "" if float(difference.bound or 0) == 0 else f", to within {bound(difference.bound)} (rounding)"
            off += " of the number in the test" if difference.nature == "inaccurate" and off else ""
            value = f"{short_numbers(difference.got, difference.expected)[1]}{off}"
            value = f"{code(wrong_place(difference))} is {'finite' if difference.only_finite else value}. "
        if difference is not None and difference.name.startswith(GRADIENT_BY):
            if difference.nature == "shape":
                return f"{value}A gradient has the shape of the input."
            return f"{value}This is the central difference of what NumPy computes, which is smooth around this point."
        if subject.case.harness == GRAPH:
            plain = difference is not None and (difference.nature == "inaccurate" or "float" not in difference.dtype)
            model = "NumPy computes the model in float64 without an overflow or an infinity on the way"
            if difference is not None and difference.nature == "infinity":
                model += f", and the result, {short_number(difference.expected)}, fits {difference.dtype}"
            return f"{value}{'This is what NumPy computes' if plain else model}."
        return (
            f"{value}The program has no undefined behavior on these inputs: an interpreter of TIR finds no overflow, "
            "out-of-bounds access, data race, division by zero or read of uninitialized memory."
            + _second_reading(subject)
        )
    return {
        "hang": "TVM compiles or rejects the program in a reasonable time.",
        "oom": "TVM compiles or rejects the program in a reasonable amount of memory.",
        "slow-code": "Optimization makes the program faster, or at least no slower.",
    }.get(kind, "TVM compiles the program or rejects it with an exception; it does not crash." + _beyond_rules(subject))


def _beyond_rules(subject: Subject) -> str:
    """That the pass which crashes is given what it does not take, and what its documentation says of that."""
    failing, own = short_name(subject.seen.pass_name), [short_name(one.name) for one in subject.case.passes]
    if subject.case.harness != TIR or failing not in own:
        return ""
    try:
        violation = legal(subject.case.passes, facts_of(subject.case.ir))
    except ValueError:
        return ""
    if violation is None or short_name(violation.name) != failing:
        return ""
    said = re.match(r"doc: ([^;]+)", rule_of(violation.name).source)
    documented = f" (its documentation: {said[1]})" if said else ""
    return f" {code(violation.name)} is not made for this program{documented}, so an exception would do."


def _well_behaved(subject: Subject) -> str:
    """What is expected of a function that dies, raises or writes elsewhere."""
    ran = blamed(subject)
    if ran.difference is not None:
        return "The compiled function writes only to its own buffers. "
    return "" if ran.ending is Ending.UNDEFINED else "The compiled function returns. "


def _second_reading(subject: Subject) -> str:
    """What the witness says, which would have withheld the finding if it objected."""
    if subject.witness is None:
        return ""
    if subject.witness.word is WitnessWord.CONFIRMS:
        return " Translated to C and run under GCC's sanitizers, it computes the same result."
    return f" It could not be checked by a translation to C ({one_line(subject.witness.reason)})."


def _why_valid(subject: Subject) -> str:
    seen = subject.seen
    if importer := importer_in(subject.case.passes):
        return f"{importer.accepted}, and TVM compiles a model of Relax operators that computes the same"
    if subject.case.harness == GRAPH:
        without = "without the passes that are run before the default pipeline"
        compiles = "with `LambdaLift` in front of the default pipeline" if makes_closures(subject.script) else without
        return f"it is well-typed and well-formed{f', and compiles {compiles}' * bool(subject.case.passes)}"
    if seen.exit is Exit.OK:
        return "it is defined on its inputs, and its optimized build compiles"
    support = seen.rejection.support if seen.rejection is not None else ""
    more = {
        "defined": ", and an interpreter of TIR finds no undefined behavior in it",
        "builds": f", and it compiles without optimizations ({subject.baseline})",
    }.get(support, "")
    broken = seen.origin is not None and seen.origin.check == ILL_FORMED
    given = "" if broken or not seen.pass_name else " and the input of the failing pass"
    return f"TVM's verifiers accept it{given}{more}"


def _actual(subject: Subject) -> list[str]:
    seen, kind, account = subject.seen, subject.finding.kind, account_for(subject)
    if account.actual:
        above = account.language == "python" and (test_first(subject) or bool(calls_shown(subject)))
        said = re.sub(r"the last of these calls:$", "the last of the calls above.", account.actual) if above else ""
        said = said or account.actual
        lines = [f"{code(account.place)} {said}" if account.place else said]
        if account.quoted and not above:
            quoted = (
                plain_calls(account.quoted)
                if account.language == "python"
                else _POINTED_AT.sub(r"\1 ...", account.quoted)
            )
            lines += ["", *fenced(cut(quoted, account.lines), account.language)]
            if seen.stage is Stage.TEXT and (bare := bare_buffer(account.headline.partition(": ")[2], subject.script)):
                lines += ["", f"TVM prints {code(f'{bare}[0]')} as {code(bare)}, since {code(bare)} has one element."]
        lines += _types_around(subject)
        lines += _then_raised(subject.seen)
    elif kind == "wrong-code":
        lines = results_in_words(subject)
    elif kind == "slow-code":
        lines = speeds_in_words(subject)
    elif kind == "ice-on-valid":
        said, raises = seen.refusal.strip(), f"{_place(subject)} raises:"
        if REFUSED_SOURCE in said:
            # Nobody raises that: it is what we ask after TVM is done.
            said, raises = compiler_words(said.partition(REFUSED_SOURCE)[2]), _NOT_COMPILED
        said = quotable(said)
        lines = [raises, "", *fenced(cut(said, MESSAGE_LINES))]
        if own := allocated_inside(said, subject.script):
            lines += ["", f"The block allocates {code(own)} itself, so its signature need not have it."]
        if lacks_memory(said):
            lines += ["", "Memory does not run out: a single request is for more than the machine has."]
        if seen.raised_at:
            lines += ["", f"It is raised in {code(seen.raised_at)}."]
    elif kind == "crash":
        lines = [f"{_place(subject)} crashes: {death(subject)}."]
        if seen.message.startswith(SANITIZER):
            report = seen.message.partition("\n")[2]
            lines += ["", "From a build of TVM with AddressSanitizer:", "", *fenced(cut(report, MESSAGE_LINES))]
    elif kind == "hang":
        lines = [f"{_place(subject)} {_without_end(subject)}."]
    else:
        lines = [f"{_place(subject)} {_too_much(subject.memory, subject.test)}."]
    if _unrolls_unasked(subject):
        lines[-1] += " All loops of the program are serial, and nothing asks to unroll one."
    if subject.memcheck:
        lines += ["", "NVIDIA's compute-sanitizer reports:", "", *fenced(cut(subject.memcheck, MESSAGE_LINES))]
    if seen.origin is not None and seen.origin.pass_name != account.place:
        lines += ["", _origin(seen.origin)]
    lines += _in_variants(subject)
    if shown := trace(seen.backtrace):
        bare = " (offsets into libraries, where there are no symbols)" if any("+0x" in line for line in shown) else ""
        lines += ["", f"Backtrace, innermost frame first{bare}:", "", *fenced("\n".join(shown))]
    return lines


def _types_around(subject: Subject) -> list[str]:
    """The types before the failing pass and after it, where the bundle has them."""
    types = subject.held.get(TYPES_SHOWN)
    if not isinstance(types, list) or len(types) != 2:
        return []
    told = zip(("before: ", "after:  "), types, strict=True)
    return ["", *fenced("\n".join(f"{when}{one_line(str(text), _TYPE)}" for when, text in told))]


def _in_variants(subject: Subject) -> list[str]:
    """In which other dtypes, and with which other operators, the program shows the same, as far as that was tried."""
    known = {**subject.environment, **subject.held}
    shown = known.get(DTYPES_SHOWN)
    same, nothing = (_named(_DTYPE, shown.get(key) if isinstance(shown, dict) else None) for key in ("same", "nothing"))
    operators = [code(name) for name in _named(_OPERATOR, known.get(OPERATORS_SHOWN))]
    said = []
    if same:
        but = f", and not in {_in_a_row(nothing, 'or')}" if nothing else ""
        said.append(f"It shows in {_in_a_row(same, 'and')} as well{but}.")
    elif nothing:
        said.append(f"It does not show in {_in_a_row(nothing, 'or')}.")
    if operators:
        said.append(f"It shows with {_in_a_row(operators, 'and')} instead of the operator, too.")
    return ["", " ".join(said)] if said else []


_DTYPE = re.compile(r"(bfloat|float|u?int)\d{1,2}")
_OPERATOR = re.compile(r"[a-z][\w.]{,40}")


def _named(name: re.Pattern[str], stored: object) -> list[str]:
    """What is a name of what is stored, which a stranger may have written."""
    return [one for one in stored if name.fullmatch(str(one))] if isinstance(stored, list) else []


def _in_a_row(names: list[str], word: str) -> str:
    *most, last = names
    return f"{', '.join(most)} {word} {last}" if most else last


def _then_raised(seen: Observation) -> list[str]:
    """What comes of ill-typed IR later in the same compilation, where it is an exception."""
    ill_typed = any(offence.check == Check.TYPES for offence in seen.offences)
    if not ill_typed or seen.exit is not Exit.REJECTED or seen.stage is not Stage.BUILD:
        return []
    later = code(seen.pass_name) if seen.pass_name else STAGE_NAMES[Stage.BUILD]
    return [
        "",
        f"Later in the same compilation, {later} raises:",
        "",
        *fenced(cut(quotable(seen.message), MESSAGE_LINES)),
    ]


def _too_much(limit: int, test: str) -> str:
    """How much memory is not enough, and how much the test lets a process have."""
    allowed = _LIMIT.search(test)
    beside = f" beside what TVM itself takes; the test limits the process to {allowed[1]} GiB in all" if allowed else ""
    return f"needs more than {limit / 2**30:.3g} GiB of memory{beside}" if limit else "runs out of memory"


_LIMIT = re.compile(r"RLIMIT_AS, \((\d+) << 30")


def _unrolls_unasked(subject: Subject) -> bool:
    """Whether it is the unrolling of loops that goes too far, where neither the program nor an option asks for any."""
    asked = "unroll" in subject.script or any(name.startswith(_UNROLLING) for name, _ in subject.case.config.options)
    costs = subject.finding.kind in ("hang", "oom") and subject.seen.pass_name.startswith(_UNROLLING)
    return costs and not asked and bool(subject.script)


_UNROLLING = "tirx.UnrollLoop"
"""The pass, and the option that has its name."""


_POINTED_AT = re.compile(r"^( *\d* +\|.{100}).+$", re.MULTILINE)
"""A long line of a program that a parser shows, and the line below it that points at a part."""


def _without_end(subject: Subject) -> str:
    """The evidence that something is without end, which bundles of before do not have."""
    seen = subject.seen
    if seen.message.startswith("does not end"):
        said = seen.message if " for " in subject.script else seen.message.removesuffix(", with all loops small")
        for stored, told in _ENDLESS:
            said = re.sub(stored, told, said)
        return said + (". All sampled stacks have the frames below in common" * bool(seen.backtrace))
    return f"is still running after {seen.elapsed:.0f} s of CPU time"


_ENDLESS = (
    (
        r"^does not end, but dies, with extents (\d+) times (?:smaller|less) within (\S+) s of processor time",
        r"does not return; with all extents divided by \1 it dies within \2 s of CPU time",
    ),
    (
        r"^does not end, but dies, within (\S+) s of processor time",
        r"does not return, but dies within \1 s of CPU time",
    ),
    (
        r"^does not end with extents (\d+) times (?:smaller|less) within (\S+) s of processor time",
        r"is still running after \2 s of CPU time, with all extents divided by \1",
    ),
    (r"^does not end within (\S+) s of processor time", r"is still running after \1 s of CPU time"),
    (r", with all loops small", ", although all its loops are short"),
    (r"(divided by \d+.*), where half the extents take (\S+) s", r"\1; with half of those it takes \2 s"),
    (r", where half the extents take (\S+) s", r"; with all extents halved it takes \1 s"),
)
"""What observations of what is without end say, and how a report says it."""


def _origin(origin: Offence) -> str:
    """Who broke what the failing step was given, as a sentence."""
    if blames_gradients(origin.pass_name):
        wrong = origin.where if origin.rule == WRONG_SHAPE else "is refused as well"
        return f"The cause is {spelled(origin.pass_name)}: in a model of that call alone, the gradient {wrong}."
    said = left(origin)
    where = said if not said or origin.rule == _IN_WORDS or said.startswith(("a ", "an ")) else code(said)
    if origin.check == NOT_KEPT:
        return f"The cause is {code(origin.pass_name)}: it leaves {where}. Without that pass there is no failure."
    wrongs = {LEFTOVER: "still has what that pass should remove", ILL_FORMED: "is ill-formed"}
    what = wrongs.get(origin.check, "is ill-typed")
    place = origin.place
    named = f", in {place}" if place.startswith("the ") else f" ({code(place)})" * bool(place)
    return f"The cause is {code(origin.pass_name)}: its output {what}{where and f': {where}'}{named}."


_IN_WORDS = "well-formed"
"""The rule whose breach is told in words, without a piece of the program."""


def _place(subject: Subject) -> str:
    """Who was at work, as the start of a sentence."""
    seen = subject.seen
    if place := account_for(subject).place:
        return code(place)
    if importer := importer_named(seen.pass_name):
        return code(f"{importer.module}.{importer.function}")
    if text := READ_BACK.get(short_name(seen.pass_name)):
        return f"Reading the module back from {text}"
    if seen.pass_name:
        where = "before the default pipeline" if seen.stage is Stage.PASSES else "in the default pipeline"
        if seen.stage is Stage.BUILD_BASELINE:
            where = f"in the baseline build ({subject.baseline})"
        elif pipeline := _PIPELINE.search(subject.test):
            where = f"in the {code(pipeline[1])} pipeline"
        elif subject.case.config.pipeline != "default":
            where = "of the pipeline below"
        return f"The pass {code(seen.pass_name)}, {where},"
    return code(BUILDER) if working_step(subject) == BUILDER else STAGE_NAMES.get(seen.stage, "The compiler")


_PIPELINE = re.compile(r"relax\.get_pipeline\(\"(\w+)\"\)")
"""What a test asks for, of the pipelines that TVM has for models."""


def _ran(subject: Subject) -> bool:
    """Whether the inputs are part of the story: the program ran on them, and what it computes is what is wrong."""
    other = subject.seen.stage is Stage.MUTATE and not subject.seen.message.startswith((OTHER_VALUES, PADDING))
    return (
        bool(subject.inputs)
        and subject.finding.kind == "wrong-code"
        and subject.seen.results is not None
        and blamed(subject).ending is not Ending.UNDEFINED
        and not other
    )


def _guilty(subject: Subject) -> Guilt | None:
    """Who is to be shown at work: by bisection, or by the oracle."""
    account = account_for(subject)
    return subject.guilt or (Guilt(account.place, diff=account.diff) if account.diff else None)


def _guilt(guilt: Guilt) -> list[str]:
    lines = ["### Where it goes wrong"]
    if guilt.change:
        lines += ["", f"{code(guilt.guilty)}: {guilt.change}"]
    if guilt.diff:
        by = "it" if guilt.change else code(guilt.guilty)
        what = f"before and after {by}" if CHANGED in guilt.diff else f"that {by} is given"
        diff = _TARGET.sub(r"\1...", guilt.diff)
        width = 200 if len(diff.splitlines()) > _SHORT_DIFF else 600
        lines += ["", f"The program {what}:", "", *fenced(cut(diff, _DIFF_LINES, width), "diff")]
    return lines
