"""Programs of a campaign that do not survive a round trip through text, searched for in children.

Not all of it is TVM's fault. TVMScript's operators fold constants and simplify what they are given, by design, so a
program that comes back simplified is none; nor is one that it refuses to fold. What is left is text that TVM printed
and does not parse, or parses as something else: `round_trip` names its cause.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.oracles.examiner import Ask, Look, Made, Pieces
from tzerlike.oracles.protocol import Environment
from tzerlike.oracles.round_trip import judge_round_trip
from tzerlike.passes.facts import Fact, facts_of
from tzerlike.passes.label import documented
from tzerlike.processes.channel import Channel
from tzerlike.systems.baseline import baseline_case
from tzerlike.systems.refusal import CompilerRefused, ask_compiler
from tzerlike.systems.tvm_api import load_ir
from tzerlike.tir.roundtrip import UNEQUAL, TextFault, constant_indices_fit, round_trip, views_lie_with_memory
from tzerlike.tir.typecheck import TypeChecker

_SHARE = 1 / 8
"""Share of those to look at: printing and parsing takes as long as compiling."""

_SMALL = 10_000
"""Characters of a stored program that is small, as half of those in a corpus are: it takes less time, and more of the
small ones do not come back. Those that a mutation brought into the corpus are looked at each; large programs only if
they enter it."""

_BY_DESIGN = (
    r"is rewritten$",
    r"^layout: ",
    r"^(body|seq|then_case|else_case): ",
)
"""Causes that are TVMScript's way: operators simplify, a default layout goes unsaid, and so does the grouping of
statements that attributes stand in front of."""

_UNSAID = (".layout.", ".thread_binding.var.")
"""In the path of what differs: a view that comes back has the layout of its buffer, which groups the same elements
otherwise, and a thread's variable has the dtype of its loop's, as schedules make it."""

_REFUSED = (r"\bp[ab]->(value|ty)\b", r"not supported for")
"""What TVM says where it will not fold constants (a division by zero, a shift too far), which may well stand where they
are never computed, or does not take an operator with a dtype."""


def reportable(fault: TextFault) -> bool:
    """Whether a fault is one that TVMScript does not mean to have."""
    if fault.stage == UNEQUAL:
        by_design = any(re.search(pattern, fault.cause) for pattern in _BY_DESIGN)
        place = fault.detail.partition("\n")[0]
        return not by_design and not any(part in place for part in _UNSAID)
    return not documented(fault.detail) and not any(re.search(pattern, fault.detail) for pattern in _REFUSED)


def examine(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    """Print and parse programs in turn, and lay down what is wrong with the outcome of each; nothing, where its types,
    its views or its indices are wrong, or where it is in TileLang's dialect, which its front end alone parses."""
    channel.enter_stage(Stage.TEXT)
    for program in item["programs"]:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        fault = _fault_of(program)
        signal.setitimer(signal.ITIMER_PROF, 0)
        channel.add_result({"fault": None if fault is None else [fault.stage, fault.cause, fault.detail]})


def _fault_of(program: str) -> TextFault | None:
    try:
        module = ask_compiler(lambda: load_ir(program))
    except CompilerRefused:
        return None
    judged = Fact.TILES not in facts_of(program) and TypeChecker().check_module(module) is None
    fault = round_trip(module) if judged else None
    speaks = fault is None or (views_lie_with_memory(module) and constant_indices_fit(module))
    return fault if speaks else None


def wants(made: Made) -> bool:
    small = len(made.case.ir) <= _SMALL
    if small and made.inserted and made.mutation is not None:
        return True
    return (small or made.inserted) and made.rng("text").random() < _SHARE


def clean(ask: Ask, cases: Sequence[Case]) -> list[bool]:
    """Say of each case whether its program survives its text, or is not looked at here, in as few children as live."""
    told: list[bool] = []
    while len(told) < len(cases):
        records, death = ask({"programs": [case.ir for case in cases[len(told) :]]})
        told += [record["fault"] is None for record in records]
        if death is not None or not records:
            told.append(death is not None)
    return told


def look(ask: Ask, made: Made) -> Look:
    return look_again(ask, made.case, {})


def look_again(ask: Ask, case: Case, held: Environment, inputs: str = "", layout: int = 0) -> Look:
    """Find that a program does not survive its text; a printer that dies is not looked at here."""
    records, death = ask({"programs": [case.ir]})
    if death is not None or not records or records[0]["fault"] is None:
        return Look()
    fault = TextFault(*records[0]["fault"])
    if not reportable(fault):
        return Look()
    seen = Observation(Exit.REJECTED, Stage.TEXT, f"{fault.cause}\n{fault.detail}", fault.stage)
    finding = judge_round_trip(baseline_case(case), seen)
    return Look(() if finding is None else (finding,), repro=partial(_repro, fault.stage))


_REPRO = '''\
"""{title}

A well-formed program that TVM does not read back from its own TVMScript. Exits non-zero while that is so.
"""

import sys

import tvm
{imports}
{program}
try:
    script = module.script()
    print(script)
    again = tvm.script.from_source(script)
except Exception as error:
    print(f"the program does not survive its text: {{error}}")
    sys.exit(1)
{compared}
'''

_COMPARED = """\
mismatch = get_first_structural_mismatch(module, again)
if mismatch is not None:
    print(f"another program comes back: it differs first at {mismatch[0]}")
    sys.exit(1)
print("the program comes back from its text: the bug does not show")"""

_PARSED = 'print("its text is parsed: the bug does not show")'


def repro_of(stage: str, title: str, program: str) -> str:
    """Return the script that shows that a program does not survive its text."""
    compared = _COMPARED if stage == UNEQUAL else _PARSED
    imports = "from tvm_ffi import get_first_structural_mismatch\n" if stage == UNEQUAL else ""
    return _REPRO.format(title=title, program=program, compared=compared, imports=imports)


def _repro(stage: str, pieces: Pieces) -> str:
    return repro_of(stage, pieces.title, pieces.program)
