"""Calls moved into functions and out of them, and functions called once more."""

from __future__ import annotations

from msgspec.structs import replace

from tzerlike.graph.dice import Dice
from tzerlike.graph.model import CLOSURES, Model, Vertex

_WORDS = (*("function", "packed") * 3, *CLOSURES)
_MOST_CALLS = 6
_DEEPEST = 3


def enclosed(model: Model, dice: Dice) -> Model | None:
    """Put some calls that follow each other into a function, around those that they are in; or take them out."""
    start, stop = _span(model, dice)
    vertices = list(model.vertices)
    mark = _new_mark(model, dice)
    out = any(vertex.within for vertex in vertices[start:stop]) and dice.below(2)
    for place in range(start, stop):
        within = vertices[place].within[1:] if out else (mark, *vertices[place].within)
        vertices[place] = replace(vertices[place], within=within[:_DEEPEST])
    return replace(model, vertices=tuple(vertices))


def repeated(model: Model, dice: Dice) -> Model | None:
    """Compute some calls once more at the end, on other tensors of the same types, both times in a function."""
    start, stop = _span(model, dice)
    kinds, made = model.types(), len(model.sources)
    again: dict[int, int] = {}
    vertices, copies, number = list(model.vertices), list[Vertex](), len(kinds)
    numbers = [first for first, _ in model.first_outputs()]
    first_mark = _new_mark(model, dice)
    for place in range(start, stop):
        vertices[place] = replace(vertices[place], within=(first_mark,))
    second_mark = _new_mark(replace(model, vertices=tuple(vertices)), dice, first_mark.rstrip("0123456789"))
    for place in range(start, stop):
        vertex = vertices[place]
        inputs = []
        for one in vertex.inputs:
            others = [other for other in range(made, len(kinds)) if kinds[other] == kinds[one]]
            other = others[dice.below(len(others))] if one >= made and dice.below(2) else one
            inputs.append(again.get(one, other))
        for index in range(len(vertex.outputs)):
            again[numbers[place] + index] = number
            number += 1
        copies.append(replace(vertex, inputs=tuple(inputs), within=(second_mark,)))
    return replace(model, vertices=(*vertices, *copies), outputs=(*model.outputs, *range(len(kinds), number)))


def _span(model: Model, dice: Dice) -> tuple[int, int]:
    start = dice.below(len(model.vertices))
    return start, start + 1 + dice.below(min(_MOST_CALLS, len(model.vertices) - start))


def _new_mark(model: Model, dice: Dice, word: str = "") -> str:
    taken = {mark for vertex in model.vertices for mark in vertex.within}
    word = word or _WORDS[dice.below(len(_WORDS))]
    return next(mark for number in range(len(taken) + 1) if (mark := f"{word}{number}") not in taken)
