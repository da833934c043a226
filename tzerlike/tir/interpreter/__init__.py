"""The interpreter of TIR: it determines what a program means, independently of TVM's lowering."""

from tzerlike.tir.interpreter.program import MAX_STEPS, Program, interpret, prepare
from tzerlike.tir.interpreter.verdict import RULES, Argument, Expected, Judgement, Verdict

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
