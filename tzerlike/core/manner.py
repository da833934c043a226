"""How IR is ill-typed, described without the parts that the program chose."""

from __future__ import annotations

import re

from tzerlike.core.dtypes import DType, parse
from tzerlike.core.observation import Offence

_TYPED = re.compile(r" of (.*) typed (\S+)$")
_WORD = re.compile(r"[a-z]+")


def manners_of(offence: Offence) -> tuple[str, ...]:
    """Return in what way IR is ill-typed: the words about it, without dtypes, numbers, and names of nodes.

    Of a call that is how its type differs from those of its operands, from the most alike of them: `bits`.
    """
    typed = _TYPED.search(offence.where)
    if typed is None:
        words = offence.where.replace(",", "").split()
        return tuple(word for word in words if _WORD.fullmatch(word) and parse(word) is None)
    result = parse(typed[2])
    operands = [operand for text in typed[1].split(", ") if (operand := parse(text))]
    if result is None or not operands:
        return ()
    return min((_differ(operand, result) for operand in operands), key=_length)


def _differ(one: DType, other: DType) -> tuple[str, ...]:
    return tuple(aspect for aspect in ("base", "bits", "lanes") if getattr(one, aspect) != getattr(other, aspect))


def _length(words: tuple[str, ...]) -> int:
    return len(words)
