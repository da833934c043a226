"""The report of a finding as an issue, under the headings of TVM's own form for bug reports."""

from __future__ import annotations

import re

from tzerlike.core.case import GRAPH
from tzerlike.core.observation import ILL_FORMED, LEFTOVER, NOT_KEPT, Exit, Observation, Offence, Stage
from tzerlike.core.results import DEFAULT_PIPELINE, GRADIENT_BY, Ending
from tzerlike.core.targets import arch_of_target, kind_of_target
from tzerlike.core.untrusted import one_line
from tzerlike.findings.issue.calls import plain_calls, schedule_of
from tzerlike.findings.issue.labels import labels
from tzerlike.findings.issue.layout import code, cut, environment_lines, fenced, fold, found_by, trace, triage
from tzerlike.findings.issue.paste import self_contained
from tzerlike.findings.issue.pytest_file import TEST_FILE
from tzerlike.findings.issue.results import (
    blamed,
    due_to,
    has_no_end,
    results_in_words,
    slower_in_short,
    speeds_in_words,
    wrong_in_short,
    wrong_place,
)
from tzerlike.findings.issue.subject import CHANGED, Guilt, Subject
from tzerlike.findings.issue.takes import only_with, takes
from tzerlike.findings.issue.titles import title
from tzerlike.findings.issue.wording import (
    bare_buffer,
    bound,
    brief,
    called_operators,
    compiler_words,
    first_line,
    huge_extent,
    most_called,
    never_computed,
    pasted,
    rare_names,
    reason,
    short_numbers,
    symbolic_thread,
    without_addresses,
)
from tzerlike.findings.repro import manner_of, quotable
from tzerlike.oracles import account_of, ill_typed
from tzerlike.oracles.crash import SANITIZER
from tzerlike.oracles.metamorphic import OTHER_VALUES, PADDING
from tzerlike.oracles.protocol import Account
from tzerlike.passes.naming import short_name
from tzerlike.plugins import harness_named
from tzerlike.systems import under_test
from tzerlike.systems.optional import in_words
from tzerlike.tir.witness.verdict import WitnessWord

_INLINE_LINES = 100
"""Lines of a test or a program that a report shows unfolded."""

_HELPER_LINES = 24
"""Lines above the function of a test that a report shows before the program."""

_FOLDED_LINES = 500
_CHARACTERS = 26_000
"""What a report shows at all, folded if need be; GitHub takes 65,536 characters. The rest is to be attached."""

_FAR_SHORTER = 2
"""How many times longer a program was that is said to be reduced."""

_DIFF_LINES = 60
_MESSAGE_LINES = 10

_CASE_FILE = "case.json"
_ARCHIVE = "inputs.npz"
_LOADS_JSON = re.compile(r"\b[Mm]od(?:ule)? = tvm\.ir\.load_json\(")

_LOSSY = "TVM prints this program as below, but parsing that text does not give the program back."

_REFUSED_SOURCE = "SourceRefused: the CUDA compiler says "
"""What our question to a CUDA compiler has in front of its answer."""

_NOT_COMPILED = "The CUDA source that TVM generates does not compile:"

_SCRIPT_BELOW = re.compile(r"\n\s*Error in pass: .*\nLocation \(TVMScript\):")
"""Where TVM goes on to print the module that a pass was given."""


def report(subject: Subject) -> str:
    """Return the text of report.md."""
    program, test = _program_first(subject), _test_first(subject)
    head = pasted(subject.script) if program else _whole_test(subject) if test else ""
    needed, calls = only_with(subject), _calls_shown(subject)
    if program and calls:
        head = _scheduled(head, calls)
    parts = [
        [f"# {headline(subject)}"],
        *([[needed]] if needed else []),
        *([fenced(head, "python")] if head else []),
        *(
            [[_LOSSY, "", *fenced(pasted(subject.script), "python")]]
            if test and _by_calls(subject.test) and pasted(subject.script)
            else []
        ),
        ["### Expected behavior", "", _expected(subject)],
        *(
            [["The inputs, and what they should become:", "", *fenced(subject.inputs)]]
            if program and _ran(subject)
            else []
        ),
        ["### Actual behavior", "", *_actual(subject)],
        *([_guilt(subject.guilt)] if subject.guilt is not None else []),
        ["### Environment", "", *environment_lines(subject.environment, _target(subject))],
        ["### Steps to reproduce", "", *_steps(subject)],
        triage(labels(subject, _account(subject).place)),
        [found_by(subject.environment, subject.finding.signature, subject.runs, subject.same, takes(subject))],
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


_OWN_INTRINSIC = '"tzerlike.'
"""How the name of an intrinsic starts that nothing but the test registers."""


def _calls_shown(subject: Subject) -> str:
    """The calls on a schedule that stand below the program at the top; "" where they are many, or where it cannot be
    pasted as it is."""
    account = _account(subject)
    if account.language != "python" or not account.quoted or not _program_first(subject):
        return ""
    calls = plain_calls(account.quoted)
    names = any(line.isidentifier() for line in calls.splitlines())  # of what TVM has no text for
    names |= _OWN_INTRINSIC in calls
    pasted_as_it_is = not names and not _by_calls(subject.test) and not _LOADS_JSON.search(subject.test)
    return calls if pasted_as_it_is and len(calls.splitlines()) <= account.lines else ""


def _scheduled(program: str, calls: str) -> str:
    """A program with the calls that schedule it."""
    imported = re.sub(r"^from tvm", "from tvm import s_tir\nfrom tvm", program.rstrip(), count=1, flags=re.MULTILINE)
    return f"{imported}\n\n{schedule_of('Module', calls.splitlines())}\n{calls}\n"


def headline(subject: Subject) -> str:
    """Return the title of the issue: what is wrong and where, in one line."""
    seen, kind, account = subject.seen, subject.finding.kind, _account(subject)
    place = account.place or short_name(seen.pass_name) or _step(subject)
    if account.headline:
        text = account.headline + (bare_buffer(account.headline, subject.script) if seen.stage is Stage.TEXT else "")
    elif kind == "wrong-code":
        culprit = (subject.guilt.guilty if subject.guilt else "") or (
            seen.results.guilty if seen.results else account.place
        )
        due = f" ({account.place or due_to(culprit, subject.case)})" if culprit and culprit != DEFAULT_PIPELINE else ""
        ran = blamed(subject)
        text = f"Wrong code{due}: {wrong_in_short(ran)}{_at(subject) if ran.ending is Ending.DIED and not due else ''}"
    elif seen.origin is not None:
        verb = "crashes" if kind == "crash" else "fails"
        where = _left(seen.origin)
        failing = "code generation" if place == _STAGES[Stage.BUILD] else place
        text = f"{short_name(seen.culprit)} leaves IR that {failing} {verb} on: {where or 'it is ill-formed'}"
        if not where and seen.refusal:
            text = f"{short_name(seen.culprit)} leaves ill-formed IR: {reason(seen.refusal)}"
    elif kind == "crash":
        text = (
            f"{place} crashes ({_death(subject)}){symbolic_thread(subject.script) or _visiting(seen) or _at(subject)}"
        )
    elif kind == "ice-on-valid":
        if _REFUSED_SOURCE in seen.refusal:
            place = "CUDA source"
            text = f"CUDA source does not compile: {first_line(seen.refusal).partition(_REFUSED_SOURCE)[2]}"
        else:
            defined = seen.rejection is not None and seen.rejection.support == "defined"
            text = f"{place} fails: {(defined and never_computed(seen.refusal)) or reason(seen.refusal)}"
    else:
        most, huge = most_called(subject.script), huge_extent(subject.script)
        text = {
            "hang": f"{place} hangs{_at(subject) or (most and f' on {most}')}",
            "oom": f"{place} runs out of memory{(huge and f' on an extent of {huge}') or _on_operators(subject)}",
            "slow-code": slower_in_short(subject),
        }.get(kind, subject.finding.title)
    label, short = harness_named(subject.case.harness).label, _in_short(place, subject)
    told = text.replace(" fails: ", f" fails{_on_operators(subject)}: ", 1)
    named = title(
        label, re.sub(r"^CUDA source(?= does not compile: )", f"CUDA source{_for_what(subject)}", told), short
    )
    # Why something fails comes before what it fails on.
    return named if ": " in named else title(label, text, short)


def _for_what(subject: Subject) -> str:
    """The one function that CUDA source is generated for in a program and in few others."""
    named = [name for name in rare_names(subject.script) if name.startswith(("T.", "assert"))]
    return f" for {named[0]}" if len(named) == 1 else ""


def _on_operators(subject: Subject) -> str:
    """The operators of a model that calls few, unless what is said names one; where a check has no words, the node that
    cannot be made, or the function that it stands in, and what few programs have where it is one of code generation."""
    wordless = reason(subject.seen.refusal).startswith("check ")
    inner = next(iter(trace(subject.seen.backtrace)), "") if wordless else ""
    if subject.case.harness == GRAPH:
        named = called_operators(subject.script)
    elif made := _MADE.match(inner):
        named = [made[1]]
    elif subject.seen.pass_name and "::" in inner:
        return f" in {inner.rpartition('::')[2]}"
    else:
        named = rare_names(subject.script) if wordless and not subject.seen.pass_name else []
    said = any(name.rpartition(".")[2] in subject.seen.refusal for name in named)
    return "" if said or not named else f" on {' and '.join(named)}"


_MADE = re.compile(r"(?:\w+::)+(\w+)::\1$")
"""A constructor."""

_STAGES = {
    Stage.LOAD: "Loading a module",
    Stage.PASSES: "A pass",
    Stage.BUILD: "Code generation",
    Stage.COMPILE_DEVICE: "Code generation",
    Stage.BUILD_BASELINE: "Code generation in the baseline build",
}


_BUILDER = "BlockBuilder"
"""What makes a model before there is a module to load."""


def _step(subject: Subject) -> str:
    """What was at work where no pass was."""
    if subject.case.harness == GRAPH and subject.seen.stage is Stage.LOAD:
        return _BUILDER
    return _STAGES.get(subject.seen.stage, "the compiler")


def _in_short(place: str, subject: Subject) -> str:
    """What failed in which function of TVM's, where what it says is too long for a title."""
    if subject.seen.origin is not None:
        fails = "crashes" if subject.finding.kind == "crash" else "fails"
        return f"{short_name(subject.seen.culprit)} leaves IR that {place} {fails} on"
    if subject.finding.kind == "invalid-ir":
        return _account(subject).headline.partition(": ")[0]
    if place == "CUDA source":
        return "CUDA source does not compile"
    verb = {"crash": "crashes", "ice-on-valid": "fails a check"}.get(subject.finding.kind, "leaves wrong IR")
    if subject.seen.stage is Stage.TEXT:
        return "TVMScript does not round-trip"
    named = (line for line in trace(subject.seen.backtrace) if "::" in line)
    inner = next(named, "").removeprefix("tvm::")
    return f"{place} {verb}" + (f" in {inner}" if inner else "")


def _target(subject: Subject) -> str:
    """What the case was compiled for: a reader has the program alone before their eyes."""
    target = subject.case.target
    kind = kind_of_target(target)
    return f"{kind} {arch_of_target(target)}" if kind == "cuda" else kind


def _account(subject: Subject) -> Account:
    return account_of(subject.finding, subject.seen, {**subject.environment, **subject.held})


def _death(subject: Subject) -> str:
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


def _expected(subject: Subject) -> str:
    kind = subject.finding.kind
    if expected := _account(subject).expected:
        return expected
    if kind == "ice-on-valid":
        return f"TVM compiles the program: {_why_valid(subject)}."
    if kind == "wrong-code":
        difference = blamed(subject).difference
        value = _well_behaved(subject)
        if difference is not None and difference.nature != "outside":
            off = "" if float(difference.bound or 0) == 0 else f", to within {bound(difference.bound)} (rounding)"
            value = f"{code(wrong_place(difference))} is {short_numbers(difference.got, difference.expected)[1]}{off}. "
        if difference is not None and difference.name.startswith(GRADIENT_BY):
            return f"{value}This is the slope of what NumPy computes, taken to both sides; there is no edge near."
        if subject.case.harness == GRAPH:
            return f"{value}NumPy computes the model without an overflow or an infinity on the way."
        return (
            f"{value}The program has no undefined behavior on these inputs: an interpreter of TIR finds no overflow, "
            "out-of-bounds access, data race, division by zero or read of uninitialized memory."
            + _second_reading(subject)
        )
    return {
        "hang": "TVM compiles or rejects the program in a reasonable time.",
        "oom": "TVM compiles or rejects the program in a reasonable amount of memory.",
        "slow-code": "Optimization makes the program faster, or at least no slower.",
    }.get(kind, "TVM compiles the program or rejects it with an exception; it does not crash.")


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
    if subject.case.harness == GRAPH:
        return "it is well-typed and well-formed" + (
            ", and compiles without the passes that are run before the default pipeline" if subject.case.passes else ""
        )
    if seen.exit is Exit.OK:
        return "it is defined on its inputs, and its optimized build compiles"
    support = seen.rejection.support if seen.rejection is not None else ""
    more = {
        "defined": ", and it runs without undefined behavior in an interpreter of TIR",
        "builds": f", and its baseline build compiles ({brief(in_words(subject.environment.get('baseline')))})",
    }.get(support, "")
    broken = seen.origin is not None and seen.origin.check == ILL_FORMED
    given = "" if broken or not seen.pass_name else " and the input of the failing pass"
    return f"TVM's verifiers accept it{given}{more}"


def _actual(subject: Subject) -> list[str]:
    seen, kind, account = subject.seen, subject.finding.kind, _account(subject)
    if account.actual:
        above = account.language == "python" and (_test_first(subject) or bool(_calls_shown(subject)))
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
    elif kind == "wrong-code":
        lines = results_in_words(subject)
    elif kind == "slow-code":
        lines = speeds_in_words(subject)
    elif kind == "ice-on-valid":
        said, raises = seen.refusal.strip(), f"{_place(subject)} raises:"
        if _REFUSED_SOURCE in said:
            # Nobody raises that: it is what we ask after TVM is done.
            said, raises = compiler_words(said.partition(_REFUSED_SOURCE)[2]), _NOT_COMPILED
        said = without_addresses(_SCRIPT_BELOW.split(said)[0])
        lines = [raises, "", *fenced(cut(said, _MESSAGE_LINES))]
    elif kind == "crash":
        lines = [f"{_place(subject)} kills the process: {_death(subject)}."]
        if seen.message.startswith(SANITIZER):
            report = seen.message.partition("\n")[2]
            lines += ["", "From a build of TVM with AddressSanitizer:", "", *fenced(cut(report, _MESSAGE_LINES))]
    elif kind == "hang":
        lines = [f"{_place(subject)} {_without_end(subject)}."]
    else:
        lines = [f"{_place(subject)} {_too_much(subject.memory)}."]
    if subject.memcheck:
        lines += ["", "NVIDIA's compute-sanitizer reports:", "", *fenced(cut(subject.memcheck, _MESSAGE_LINES))]
    if seen.origin is not None and seen.origin.pass_name != account.place:
        lines += ["", _origin(seen.origin)]
    elif kind in ("crash", "ice-on-valid") and not account.place and seen.stage is Stage.BUILD and not seen.pass_name:
        lines += ["", "No earlier pass is known to have broken the program."]
    if shown := trace(seen.backtrace):
        bare = " (offsets into libraries, where there are no symbols)" if any("+0x" in line for line in shown) else ""
        lines += ["", f"Backtrace, innermost frame first{bare}:", "", *fenced("\n".join(shown))]
    return lines


def _too_much(limit: int) -> str:
    return f"needs more than {limit / 2**30:.3g} GiB of memory" if limit else "runs out of memory"


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
        r"^does not end, but dies,(.*) within (\S+) s of processor time",
        r"does not end but dies\1 within \2 s of CPU time",
    ),
    (r"^does not end(.*) within (\S+) s of processor time", r"is still running\1 after \2 s of CPU time"),
    (r", with all loops small", ", although all its loops are short"),
    (r", where half the extents take (\S+) s", r"; with all extents halved it takes \1 s"),
)
"""What observations of what is without end say, and how a report says it."""


def _left(origin: Offence) -> str:
    """What is wrong with the program that a pass leaves, as what it has."""
    said = ill_typed.wrong_in_words(first_line(origin.where))
    for stored, told in _LEFT:
        said = re.sub(stored, told, said)
    return said


_LEFT = (
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


def _origin(origin: Offence) -> str:
    """Who broke what the failing step was given, as a sentence."""
    said = _left(origin)
    where = said if not said or origin.rule == _IN_WORDS or said.startswith(("a ", "an ")) else code(said)
    if origin.check == NOT_KEPT:
        return f"The cause is {code(origin.pass_name)}: it leaves {where}. Without that pass there is no failure."
    wrongs = {LEFTOVER: "still has what that pass should remove", ILL_FORMED: "is ill-formed"}
    what = wrongs.get(origin.check, "is ill-typed")
    return f"The cause is {code(origin.pass_name)}: its output {what}{where and f': {where}'}."


_IN_WORDS = "well-formed"
"""The rule whose breach is told in words, without a piece of the program."""


def _place(subject: Subject) -> str:
    """Who was at work, as the start of a sentence."""
    seen = subject.seen
    if place := _account(subject).place:
        return code(place)
    if seen.pass_name:
        where = "before the default pipeline" if seen.stage is Stage.PASSES else "in the default pipeline"
        if seen.stage is Stage.BUILD_BASELINE:
            where = f"in the baseline build ({brief(in_words(subject.environment.get('baseline')))})"
        elif subject.case.config.pipeline != "default":
            where = "of the pipeline below"
        return f"The pass {code(seen.pass_name)}, {where},"
    return code(_BUILDER) if _step(subject) == _BUILDER else _STAGES.get(seen.stage, "The compiler")


def _at(subject: Subject) -> str:
    """The first function of TVM's that a backtrace names, where the failing step has no name of its own."""
    if subject.seen.pass_name or _account(subject).place:
        return ""
    named = (line for line in trace(subject.seen.backtrace) if "::" in line)
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


def _program_first(subject: Subject) -> bool:
    """Whether the report begins with the program: it is short, and no test that is short says it."""
    return bool(subject.script) and not _test_first(subject) and _inline(subject.script)


def _test_first(subject: Subject) -> bool:
    """Whether the report begins with the test: it is short, and has the program and its inputs in it as text."""
    said = _says_program(subject) and _ARCHIVE not in subject.test and not _helps(subject)
    return said and _inline(subject.test) and bool(_whole_test(subject))


def _helps(subject: Subject) -> bool:
    """Whether most of a test is functions that look for the bug: a reader wants the program first."""
    helpers = subject.test.partition("\ndef test_")[0].splitlines()
    return len(helpers) > _HELPER_LINES and bool(pasted(subject.script)) and _inline(subject.script)


def _says_program(subject: Subject) -> bool:
    return bool(subject.test) and f'"{_CASE_FILE}"' not in subject.test and not _LOADS_JSON.search(subject.test)


def _whole_test(subject: Subject) -> str:
    return self_contained(subject.test, subject.files)


def _steps(subject: Subject) -> list[str]:
    lines: list[str] = []
    shorter = len(subject.script.splitlines())
    if subject.original_lines >= _FAR_SHORTER * shorter > 0:
        lines += [f"The program was reduced from {subject.original_lines} lines to {shorter}.", ""]
    if subject.test:
        lines += _test_lines(subject)
    else:
        lines += _script_lines(subject)
    if not subject.script and _by_calls(subject.test):
        lines += ["", "TVM cannot print the program."]
    elif not subject.script and not _LOADS_JSON.search(subject.test):
        lines += ["", f"TVM cannot print the program; the attached {_CASE_FILE} has it."]
    elif subject.script and not pasted(subject.script):
        lines += ["", "TVM cannot print the program. In the notation of tzerlike it is:", "", *fenced(subject.script)]
    elif not _program_first(subject) and not _says_program(subject) and pasted(subject.script):
        lines += ["", f"The program ({shorter} lines) is in the attached module.py."]
    return lines


def _script_lines(subject: Subject) -> list[str]:
    """How to run repro.py; its first line says what the title of the issue does."""
    manner = manner_of(subject.repro)
    whole = self_contained(subject.repro, subject.files)
    if not whole or not _folded(whole):
        return [f"Run the attached `repro.py`{_beside(subject.repro)} {manner}."]
    whole = re.sub(r'\A"""[^\n"]*', lambda _: f'"""{quotable(headline(subject))}', whole)
    ends = " A limit on its CPU time ends it." if subject.finding.kind == "hang" else ""
    run = f"Save this as `repro.py` and run `python repro.py` {manner}.{ends}{_other_form(subject, 'script', whole)}"
    return [run, "", *fold("repro.py", whole)]


def _by_calls(text: str) -> bool:
    """Whether a script makes its module by calls of constructors."""
    return "Module = tvm.IRModule({" in text


def _other_form(subject: Subject, what: str, text: str) -> str:
    """Why a test or a script does not hold the program as TVMScript."""
    if not (_LOADS_JSON.search(text) or _by_calls(text)) or _test_first(subject):
        return ""
    made = "builds it by calls" if _by_calls(text) else "loads it from JSON"
    if subject.script and (_by_calls(text) or subject.seen.stage is Stage.TEXT):
        return f" The program above is what TVM prints, which does not give the program back; the {what} {made}."
    why = "TVM does not parse the program it prints" if subject.script else "TVM cannot print this program"
    return f" {why}, so the {what} {made}."


def _test_lines(subject: Subject) -> list[str]:
    what = {
        "crash": "the crash ends pytest",
        "hang": "an alarm ends it",
        "oom": "it hits a memory limit",
    }.get(subject.finding.kind, _no_end(subject.test) if has_no_end(blamed(subject)) else "it fails")
    moment = "as long as the bug exists" if subject.same == subject.runs else "when the bug shows, not in every run"
    needs = "only tvm and numpy"
    if "nvrtc_log(" in subject.test:
        needs = "tvm, numpy and NVRTC (CUDA's, or NVIDIA's packages for pip)"
    elif "nvcc.compile_cuda(" in subject.test:
        needs = "tvm, numpy and a CUDA compiler"
    run = f"run `pytest {TEST_FILE}`. It needs {needs}; {what} {moment}."
    if "lowered = Lowered()" in subject.test:
        run += " It runs the lowered kernel thread by thread in Python, without a GPU."
    run += _other_form(subject, "test", subject.test)
    if _test_first(subject):
        return [f"Save the test above as `{TEST_FILE}` and {run}"]
    whole = _whole_test(subject)
    if not whole or not _folded(whole):
        return [f"With the attached `{TEST_FILE}`{_beside(subject.test)}, {run}"]
    return [f"Save this as `{TEST_FILE}` and {run}", "", *fold(TEST_FILE, whole)]


def _no_end(test: str) -> str:
    """How the test of a build that does not end comes out: those of older bundles have no limit."""
    return "an alarm ends it" if "signal.alarm(" in test else "it does not end"


def _beside(text: str) -> str:
    """The files that a script reads, which are to be attached as well."""
    names = dict.fromkeys(re.findall(r'with_name\("([\w.]+)"\)', text))
    return f" with {' and '.join(map(code, names))} beside it" if names else ""


def _inline(text: str) -> bool:
    return len(text.splitlines()) <= _INLINE_LINES and len(text) <= _CHARACTERS


def _folded(text: str) -> bool:
    return len(text.splitlines()) <= _FOLDED_LINES and len(text) <= _CHARACTERS


def _guilt(guilt: Guilt) -> list[str]:
    lines = ["### Where it goes wrong", "", f"{code(guilt.guilty)}" + (f": {guilt.change}" if guilt.change else "")]
    if guilt.diff:
        what = "before and after" if CHANGED in guilt.diff else "that it is given"
        lines += ["", f"The program {what}:", "", *fenced(cut(guilt.diff, _DIFF_LINES, 200), "diff")]
    return lines
