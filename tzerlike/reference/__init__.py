"""The reference interpreter of TIR: an opinion on what a program means that owes nothing to TVM's lowering."""

from tzerlike.reference.program import MAX_STEPS, Program, interpret, prepare
from tzerlike.reference.verdict import RULES, Argument, Expected, Judgement, Verdict

__all__ = [
    "MAX_STEPS",
    "RULES",
    "Argument",
    "Expected",
    "Judgement",
    "Program",
    "Verdict",
    "interpret",
    "prepare",
]
