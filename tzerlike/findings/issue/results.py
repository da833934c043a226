"""What a build of a program did wrong, or slowly, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import median

from tzerlike.core.case import GRAPH, Case
from tzerlike.core.results import (
    ARBITRARY,
    BASELINE,
    CODE_GENERATION,
    DEFAULT_PIPELINE,
    GRADIENT_OF,
    IMPORT_OF,
    OVER_TIME,
    Difference,
    Ending,
    Ran,
)
from tzerlike.core.targets import kind_of_target
from tzerlike.findings.issue.layout import code
from tzerlike.findings.issue.messages import first_line
from tzerlike.findings.issue.numbers import short_numbers
from tzerlike.findings.issue.subject import Subject
from tzerlike.passes.naming import short_name


def blamed(subject: Subject) -> Ran:
    return Ran() if subject.seen.results is None else subject.seen.results.blamed


def wrong_in_short(ran: Ran) -> str:
    """What a build did instead of what the program says, as a title has it."""
    difference = ran.difference
    if difference is None:
        return {
            Ending.DIED: "the compiled function does not end"
            if has_no_end(ran)
            else f"the compiled function dies ({ran.message.partition(' ')[0] or 'no message'})",
            Ending.UNDEFINED: f"the lowered kernel {_undefined(ran.message)}",
            Ending.RAISED: f"the compiled function raises {first_line(ran.message)}",
        }.get(ran.ending, ran.ending.value)
    if difference.nature == "outside":
        return f"the compiled function writes outside of buffer {difference.name}"
    if ran.message == ARBITRARY:
        return f"{wrong_place(difference)} is arbitrary, not {short_numbers(difference.got, difference.expected)[1]}"
    if difference.nature == "inaccurate":
        so = "as inaccurate as float32" if _is_single(difference) else f"off by {_relatively_off(difference):.0e}"
        return f"a {difference.dtype} result is {so}"
    return _value_in_words(difference)


def _value_in_words(difference: Difference) -> str:
    place = wrong_place(difference)
    kept = " (also its value before the call)" if 1 < difference.kept == difference.count else ""
    got, expected = short_numbers(difference.got, difference.expected)
    narrow = f" in {difference.dtype}" * (difference.nature == "infinity" and "float16" in difference.dtype)
    return f"{place} is {got}{narrow}{kept}, not {expected}"


def has_no_end(ran: Ran) -> bool:
    """Whether a build was stopped for the time that it took."""
    return ran.ending is Ending.DIED and ran.message == OVER_TIME


def wrong_place(difference: Difference) -> str:
    """The element that is wrong, or the shape or the dtype."""
    if difference.nature in ("shape", "dtype"):
        return f"{difference.name}.{difference.nature}"
    return f"{difference.name}[{', '.join(map(str, difference.index))}]" if difference.index else difference.name


def results_in_words(subject: Subject) -> list[str]:
    results, ran = subject.seen.results, blamed(subject)
    wrong = wrong_in_short(ran)
    if ran.message == ARBITRARY:
        text = f"{wrong}: it is {ARBITRARY}."
    elif ran.difference is not None and ran.difference.nature != "outside":
        wrong = _value_in_words(ran.difference)
        count, size = ran.difference.count, ran.difference.size
        counted = size > 1 and ran.difference.nature not in ("shape", "dtype")
        text = wrong + (f"; {count} of {size} elements differ{'s' * (count == 1)}." if counted else ".")
        if ran.difference.nature == "inaccurate":
            text += _inaccurate(ran.difference)
    else:
        text = f"{wrong[0].upper()}{wrong[1:]}."
    if results is None:
        return [text]
    if kind_of_target(subject.case.target) == "cuda" and results.blame != BASELINE and not results.device:
        text += " This is what an interpreter of TIR finds in what the device passes leave; no GPU ran it."
    words = "legalized and lowered only" if subject.case.harness == GRAPH else subject.baseline
    without = f"without optimization ({words})"
    text += {
        "both": f" Built {without} it is wrong too.",
        "optimised": f" Built {without} it is right." if _right(results.baseline) else "",
        "reference": f" This is built {without}"
        + ("; with optimization it is right." if _right(results.optimised) else "."),
    }.get(results.blame, "")
    if results.guilty == DEFAULT_PIPELINE:
        text += " The cause is a pass of the default pipeline; which one is not known."
    elif results.guilty == CODE_GENERATION and subject.guilt is None:
        text += f" {_NO_PASS}"
    elif results.guilty and subject.guilt is None:
        text += f" The cause is {_culprit(results.guilty)}.{_undefined_behind(results.deed)}"
    if results.misled:
        by, given, made = results.misled
        text += f" Behind that is {code(by)}, which wrongly turns {code(given)} into {code(made)}."
    return [text]


def _undefined_behind(deed: Sequence[str]) -> str:
    """What is undefined behind a pass and was not in front of it, by what that does (Walk.deed)."""
    words = _UNDEFINED.get(deed[0]) if deed else None
    return f" Its output {words} on these inputs, its input does not." if words else ""


def _inaccurate(difference: Difference) -> str:
    """How far a result is off, where it looks like rounding."""
    off = abs(float(difference.got) - float(difference.expected))
    said = f" It is off by {off:.2g}; rounding in {difference.dtype} explains {float(difference.bound):.2g} at most."
    return said + " An error of this size is what float32 makes." * _is_single(difference)


_SINGLE = 2.0**-36, 2.0**-18
"""Relative errors of a few roundings to float32."""


def _is_single(difference: Difference) -> bool:
    """Whether a float64 has the accuracy of a float32."""
    return difference.dtype == "float64" and _SINGLE[0] < _relatively_off(difference) < _SINGLE[1]


def _relatively_off(difference: Difference) -> float:
    return abs(float(difference.got) / float(difference.expected) - 1)


_NO_PASS = (
    "As far as an interpreter can tell, every module that the passes leave is right, so code generation seems to be "
    "the cause."
)
"""Some modules behind the lowering of intrinsics it cannot judge."""


def due_to(guilty: str, case: Case) -> str:
    """Who is guilty, as a title says it: of code generation alone nothing is known, where it takes a pass too."""
    if guilty == CODE_GENERATION and len(case.passes) == 1:
        return f"after {short_name(case.passes[0].name)}"
    return spelled(short_name(guilty))


def _culprit(guilty: str) -> str:
    if " " in guilty:
        return spelled(guilty)
    return f"the {'pass' if short_name(guilty)[:1].isupper() else 'operator'} {code(guilty)}"


def spelled(guilty: str) -> str:
    """A culprit that is no pass as a report says it: bundles have its older name."""
    for before in (GRADIENT_OF, IMPORT_OF):
        if guilty.startswith(before):
            return f"the {before}{code(guilty.removeprefix(before))}"
    return guilty.replace("LLVM optimisation", "LLVM's optimizer")


def _right(ran: Ran) -> bool:
    return ran.ending is Ending.AGREES


def speeds_in_words(subject: Subject) -> list[str]:
    timing = subject.seen.results.timing if subject.seen.results is not None else None
    if timing is None:
        return ["The optimized build is slower."]
    first, second = median(timing.baseline) * 1e6, median(timing.optimised) * 1e6
    text = (
        f"Medians of {len(timing.optimised)} interleaved runs on one core: {first:.1f} us without "
        f"{_code_of_pass(subject)}, "
        f"{second:.1f} us with it, {second / first:.3g} times as long (noise alone: {timing.floor:.2f} times)."
    )
    return [text]


def _code_of_pass(subject: Subject) -> str:
    guilty = _slower_with(subject)
    return guilty if " " in guilty else f"the pass {code(guilty)}"


def _slower_with(subject: Subject) -> str:
    results = subject.seen.results
    return results.guilty if results is not None and results.guilty else "passes of its own"


_UNDEFINED: Mapping[str, str] = {
    "race": "has a data race",
    "out-of-bounds": "accesses memory out of bounds",
    "uninitialised": "reads uninitialized memory",
    "divergent-barrier": "has a divergent barrier",
    "integer-overflow": "overflows an integer",
    "division-by-zero": "divides by zero",
    "shift-range": "shifts by more bits than there are, or fewer than none",
    "cast-range": "casts a number to a type that does not have it",
    "negative-extent": "has a negative extent",
}
"""What a program does that is undefined, by its rule."""


def _undefined(message: str) -> str:
    """What a kernel does that is undefined, in words: its rule comes first."""
    rule, _, words = " ".join(message.split()).partition(" ")
    rule, words = rule.rstrip(":"), words.replace("by different iterations", "by different threads")
    words = re.sub(r": for [\w.]+ from 0, \d+ times$", "", words)  # where all threads of a block are one loop
    return _UNDEFINED.get(rule, f"breaks the rule {rule.replace('-', ' ')}") + (f": {words}" if words else "")


def slower_in_short(subject: Subject) -> str:
    times = ""
    if subject.seen.results is not None and (timing := subject.seen.results.timing) is not None:
        times = f" {median(timing.optimised) / median(timing.baseline):.2g} times"
    return f"{short_name(_slower_with(subject))} makes the code{times} slower" if times else "The code is slower"
