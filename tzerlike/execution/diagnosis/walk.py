"""The result of a walk along the passes of a compilation: a plain value, in JSON both ways."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from tzerlike.core.observation import LEFTOVER
from tzerlike.core.results import Difference
from tzerlike.core.schema import Count, Text, converted

VERIFYING = "verifying"
"""The key of a record that says which module TVM's verifiers are asked about from now on."""


_VALUE = "value"


class Change(StrEnum):
    """What a culprit step does."""

    RESULT = "result"
    """The program computes something else behind it."""
    UNDEFINED = "undefined"
    """The program is undefined behind it, or meets an infinity or NaN, on inputs on which it was defined."""
    ILL_FORMED = "ill-formed"
    """TVM's verifiers accept the program before it and not behind it."""
    ILL_TYPED = "ill-typed"
    """The program is well-typed before it and not behind it (tzerlike.tir.typecheck)."""
    LEFTOVER = "leftover"
    """It leaves some of what it is there to remove, which a later pass does not reckon with (tzerlike.tir.promises)."""
    DIED = "died"
    """The compiler dies in it, runs on without end, or eats all memory."""
    RAISED = "raised"
    """It raises."""
    NONE = "none"
    """No step is known to change anything."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The passes that ran on a program, and where its meaning was lost.

    `suspects` are TVM's names of the passes one of which is the culprit: one where it is known, more where the
    interpreter cannot judge what lies between them, none where the program means the same as far as can be judged.
    `unjudged` are then the passes that changed the program behind that and before its arguments were packed.
    `index` is the place of the first suspect among the `passes` that had begun, from 0, passes inside of passes
    included. `detail` says what is wrong behind it: rule and place, or message. `diff` is the TIR before and after,
    as a unified diff, where that was asked for, and `statements` what that changes (`tir.shape.change_of`).
    `misused` is the first of the case's own passes that was given what its preconditions exclude, if that was no later.
    `misled` is what the culprit goes by that is wrong itself (tzerlike.execution.diagnosis.iterators), an expression,
    and what it makes of that; empty where nothing is known to be. `breaks` is a rule of TVM's that the program breaks
    and the culprit goes by: then nobody is at fault.
    """

    passes: Count
    change: Change = Change.NONE
    suspects: tuple[Text, ...] = ()
    index: Count | None = None
    detail: Text = ""
    difference: Difference | None = None
    diff: Text = ""
    unjudged: tuple[Text, ...] = ()
    misused: Text = ""
    statements: tuple[Text, ...] = ()
    misled: tuple[Text, ...] = ()
    breaks: Text = ""

    @property
    def deed(self) -> tuple[str, ...]:
        """What the culprit step does, without what depends on the program: a rule, and the statements that it changes.

        The rule is the one that is broken behind it, `value` for other values and for races, which give them by chance.
        Of what it leaves that it is there to remove this is said, and what.
        """
        if self.change is Change.LEFTOVER and self.statements:
            return (LEFTOVER, *self.statements)
        if self.change not in (Change.RESULT, Change.UNDEFINED):
            return ()
        rule = self.detail.partition(":")[0] if self.change is Change.UNDEFINED else _VALUE
        return (_VALUE if rule == "race" else rule, *self.statements)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> Walk:
        """Rebuild from `to_json`; UserError that names a field that is missing or of the wrong type."""
        return converted(data, cls, "walk")
