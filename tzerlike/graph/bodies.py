"""How a model is written: which of its calls are in separate functions, and which in a branch.

Calls that follow each other and bear the same mark are a function; what only one branch of an `if` takes is in that
branch. Neither changes what the model means.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tzerlike.graph.model import Model, Vertex
from tzerlike.graph.spec.forms import CONDITIONAL


@dataclass(frozen=True)
class SingleCall:
    """A call, by the number of its first output."""

    number: int
    vertex: Vertex

    @property
    def gives(self) -> tuple[int, ...]:
        return tuple(range(self.number, self.number + len(self.vertex.outputs)))

    @property
    def takes(self) -> tuple[int, ...]:
        return self.vertex.inputs

    @property
    def marks(self) -> tuple[str, ...]:
        return self.vertex.within


@dataclass(frozen=True)
class Branches:
    """An `if`, and what is computed in each of its branches alone."""

    call: SingleCall
    then: Body
    other: Body

    @property
    def gives(self) -> tuple[int, ...]:
        return self.call.gives

    @property
    def takes(self) -> tuple[int, ...]:
        return (self.call.takes[0], *self.then.takes, *self.other.takes)

    @property
    def marks(self) -> tuple[str, ...]:
        return self.call.marks


@dataclass(frozen=True)
class LocalFunction:
    """A function that is called here, on what its body takes."""

    mark: str
    body: Body

    @property
    def gives(self) -> tuple[int, ...]:
        return self.body.results

    @property
    def takes(self) -> tuple[int, ...]:
        return self.body.takes

    @property
    def marks(self) -> tuple[str, ...]:
        return ()


BodyItem = SingleCall | Branches | LocalFunction


@dataclass(frozen=True)
class Body:
    """What is computed one after the other, and which tensors it is for."""

    items: tuple[BodyItem, ...]
    results: tuple[int, ...]

    @property
    def takes(self) -> tuple[int, ...]:
        """The tensors from outside, each once."""
        made = {number for item in self.items for number in item.gives}
        taken = [number for item in self.items for number in item.takes]
        return tuple(dict.fromkeys(number for number in (*taken, *self.results) if number not in made))


def body_of(model: Model) -> Body:
    """Return the body of `main`."""
    calls = [SingleCall(number, vertex) for number, vertex in model.first_outputs()]
    return _body(calls, model.outputs)


def content_of(body: Body) -> str:
    """Return what a body computes, the same for bodies that are alike but for the numbers of their tensors."""
    place: dict[int, int] = {number: index for index, number in enumerate(body.takes)}
    return _content(body, place)


def _body(calls: Sequence[SingleCall], results: tuple[int, ...]) -> Body:
    items: list[BodyItem] = []
    moved: set[int] = set()
    for place in range(len(calls) - 1, -1, -1):
        call = calls[place]
        if call.number in moved:
            continue
        if call.vertex.row not in CONDITIONAL:
            items.append(call)
            continue
        bodies = []
        half = 1 + len(call.takes) // 2
        for start, stop in ((1, half), (half, len(call.takes))):
            inside = _only_for(calls, place, range(start, stop), results)
            moved |= {one.number for one in inside}
            bodies.append(_body(inside, call.takes[start:stop]))
        items.append(Branches(call, *bodies))
    return _grouped(items[::-1], results, 0)


def _only_for(calls: Sequence[SingleCall], place: int, inputs: range, results: Sequence[int]) -> list[SingleCall]:
    """The calls whose results go nowhere else than into these inputs of the call at `place`."""
    wanted = set(calls[place].takes[inputs.start : inputs.stop])
    elsewhere = {*results, *(number for i, number in enumerate(calls[place].takes) if i not in inputs)}
    for call in calls[place + 1 :]:
        elsewhere.update(call.takes)
    found = []
    for call in reversed(calls[:place]):
        if wanted.intersection(call.gives) and not elsewhere.intersection(call.gives):
            found.append(call)
            wanted.update(call.takes)
        else:
            elsewhere.update(call.takes)
    return found[::-1]


def _grouped(items: Sequence[BodyItem], results: tuple[int, ...], depth: int) -> Body:
    found: list[BodyItem] = []
    for start, stop, mark in _runs(items, depth):
        run = items[start:stop]
        if not mark:
            found += run
            continue
        later = {*results, *(number for item in items[stop:] for number in item.takes)}
        given = tuple(number for item in run for number in item.gives)
        out = tuple(number for number in given if number in later) or given[:1]
        found.append(LocalFunction(mark, _grouped(run, out, depth + 1)))
    return Body(tuple(found), results)


def _runs(items: Sequence[BodyItem], depth: int) -> Iterator[tuple[int, int, str]]:
    start = 0
    while start < len(items):
        mark = "".join(items[start].marks[depth : depth + 1])
        stop = start + 1
        while mark and stop < len(items) and "".join(items[stop].marks[depth : depth + 1]) == mark:
            stop += 1
        yield start, stop, mark
        start = stop


def _content(body: Body, place: dict[int, int]) -> str:
    lines = []
    for item in body.items:
        if isinstance(item, LocalFunction):
            said = f"{item.mark[0]} {_content(item.body, place)}"
        elif isinstance(item, Branches):
            said = f"if {place[item.takes[0]]} {_content(item.then, place)} {_content(item.other, place)}"
        else:
            said = f"{item.vertex.row} {[place[number] for number in item.takes]} {item.vertex.attributes}"
        for number in item.gives:
            place.setdefault(number, len(place))
        lines.append(said)
    return f"{{{'; '.join(lines)} -> {[place[number] for number in body.results]}}}"
