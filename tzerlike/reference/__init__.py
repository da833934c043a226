"""The reference interpreter of TIR: an opinion on what a program means that owes nothing to TVM's lowering."""

from tzerlike.reference.verdict import RULES, Argument, Expected, Judgement, Verdict

__all__ = ["RULES", "Argument", "Expected", "Judgement", "Verdict"]
