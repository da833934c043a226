"""The witness's verdict on expected results: of a bundle, or of many programs at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy

from tzerlike.tir.witness.graph import NotCovered
from tzerlike.tir.witness.program import Arrays, Written, write_program
from tzerlike.tir.witness.running import RunOutcome, run_programs


class WitnessWord(StrEnum):
    """CONFIRMS: the program computes what is expected. OBJECTS: something else, or it has no meaning."""

    CONFIRMS = "confirms"
    OBJECTS = "objects"
    CANNOT_SAY = "cannot-say"


@dataclass(frozen=True, slots=True)
class Deposition:
    """The witness's word, and why; no reason where it confirms."""

    word: WitnessWord
    reason: str = ""


@dataclass(frozen=True, slots=True)
class WitnessQuestion:
    """A program in JSON, and an archive: its inputs and what is expected of its buffers."""

    ir: str
    arrays: Arrays


def _no_name(number: int) -> str:
    return ""


def depositions(
    questions: Sequence[WitnessQuestion], name_of_intrinsic: Callable[[int], str | None] = _no_name, seconds: int = 5
) -> list[Deposition]:
    """Judge expectations, all in one file of C."""
    written = [_written(question, name_of_intrinsic) for question in questions]
    asked = [(question, one) for question, one in zip(questions, written, strict=True) if isinstance(one, Written)]
    inputs = [
        [parameter.to_memory(question.arrays[f"argument{parameter.position}"]) for parameter in one.parameters]
        for question, one in asked
    ]
    outcomes = iter(run_programs([one for _, one in asked], inputs, seconds) if asked else ())
    return [
        one if isinstance(one, Deposition) else _judged(question, one, next(outcomes))
        for question, one in zip(questions, written, strict=True)
    ]


def _written(question: WitnessQuestion, name_of_intrinsic: Callable[[int], str | None]) -> Written | Deposition:
    try:
        return write_program(question.ir, question.arrays, name_of_intrinsic)
    except NotCovered as error:
        return Deposition(WitnessWord.CANNOT_SAY, str(error))
    except RecursionError:
        return Deposition(WitnessWord.CANNOT_SAY, "nested too deeply")


def _judged(question: WitnessQuestion, program: Written, outcome: RunOutcome) -> Deposition:
    if outcome.word != "ran":
        return Deposition(WitnessWord.OBJECTS if outcome.word == "undefined" else WitnessWord.CANNOT_SAY, outcome.text)
    first, second = outcome.memories
    if first != second:
        return Deposition(
            WitnessWord.OBJECTS, "it reads what was never written, or depends on the order of a parallel loop"
        )
    start = 0
    for parameter in program.parameters:
        size = parameter.elements * numpy.dtype(parameter.scalar.stored).itemsize
        got = parameter.from_memory(first[start : start + size])
        start += size
        expected = question.arrays.get(f"expected{parameter.position}")
        if expected is None:
            return Deposition(WitnessWord.CANNOT_SAY, "no expectation")
        if got.dtype.kind == "f":
            wrong = ~(numpy.abs(got - expected) <= question.arrays[f"bound{parameter.position}"])
        else:
            wrong = got != expected
        if wrong.any():
            place = tuple(int(index) for index in numpy.argwhere(wrong)[0])
            what = f"argument {parameter.position} at {list(place)}: {got[place]} in place of {expected[place]}"
            return Deposition(WitnessWord.OBJECTS, what)
    return Deposition(WitnessWord.CONFIRMS)
