"""TVMScript of a model without the lines that its failure does not take.

A model has a dataflow block and a tuple of outputs in each function, and each of its calls is one of an operator. Its
text can do without: lines go as long as TVM fails in the same words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, dropwhile

from tzerlike.core.shrink import Attempt, Task, search

_MOST = 60
"""Texts that are tried."""

_LONGEST = 60
"""Lines of a text that is worth it: a longer one is not reduced."""

_DATAFLOW = re.compile(r"( *)with R\.dataflow\(\):$")
_BINDING = re.compile(r"( *)(\w+) = (.+)$")
_TUPLE = re.compile(r"( *)(\w+) = (\w+(?:, \w+)+)$")
_FUNCTION = re.compile(r"( *)def (\w+)\((.*)\):$")
_PARAMETER = re.compile(r'\w+: R\.Tensor\(\(.*?\), dtype="\w+"\)')
_KEYWORD = re.compile(r', \w+=(?:"[^"]*"|[\w.-]+|\[[^\]]*\]|\([^()]*\))')
_ONE_OUTPUT = re.compile(r"^( *)(\w+) = \((\w+),\)\n *return \2$", re.MULTILINE)
_NAMED_RESULT = re.compile(r"^( *)(\w+) = (.+)\n *return \2$", re.MULTILINE)
_ALIAS = re.compile(r"\(?(\w+)(?:,\))?$")
_COPY = re.compile(r"R\.(?:negative|logical_not)\((\w+)\)$")


def with_fewer_lines(source: str, failure: Callable[[str], str]) -> str:
    """Return the source without what `failure` is the same without, which says how TVM fails on a source."""
    start, wanted = tuple(source.splitlines()), failure(source)
    if not wanted or len(start) > _LONGEST:
        return source
    task = Task([_shorter], _size, tuple, lambda lines: failure("\n".join(lines)) == wanted)
    left = iter(range(_MOST))
    found = search(start, task, stop=lambda: next(left, None) is None)
    return "\n".join(found.value) + "\n" * source.endswith("\n")


def with_bare_output(source: str) -> str:
    """Return the source of a model of one function and one output, without dataflow blocks and tuple; another one as
    it is."""
    lines = source.splitlines()
    while (place := next((n for n, line in enumerate(lines) if _DATAFLOW.match(line)), None)) is not None:
        lines = _without_dataflow(lines, place, _indent(lines[place]))
    bare, found = _ONE_OUTPUT.subn(r"\1return \3", "\n".join(lines))
    return _NAMED_RESULT.sub(r"\1return \3", bare) if found == 1 == source.count("def ") else source


def _size(lines: Sequence[str]) -> tuple[int, int, int, Sequence[str]]:
    """Lines, letters, and how many different words there are in each line."""
    words = sum(len(set(re.findall(r"\w+", line))) for line in lines)
    return len(lines), sum(map(len, lines)), words, lines


def _shorter(lines: Sequence[str]) -> Iterator[Attempt[Sequence[str]]]:
    return (partial(tuple, shorter) for shorter in _proposed(list(lines)))


def _proposed(lines: list[str]) -> Iterator[list[str]]:
    for place, line in enumerate(lines):
        if match := _DATAFLOW.match(line):
            yield _without_dataflow(lines, place, len(match[1]))
    for place, line in enumerate(lines):
        if match := _FUNCTION.match(line):
            yield from _in_functions(lines, place, match)
    yield from _untupled(lines)
    for place, line in enumerate(lines):
        if match := _BINDING.match(line):
            yield from _without_binding(lines, place, match)
        if _BINDING.match(line) or line.lstrip().startswith("return "):
            types = _types(lines[:place])
            yield from ([*lines[:place], plainer, *lines[place + 1 :]] for plainer in _plainer(line, types))


def _without_dataflow(lines: list[str], place: int, indent: int) -> list[str]:
    """The lines with those of a dataflow block in its place."""
    stop = _end(lines, place)
    inner = [line[4:] for line in lines[place + 1 : stop] if not re.match(rf" {{{indent + 4}}}R\.output\(", line)]
    return [*lines[:place], *inner, *lines[stop:]]


def _end(lines: list[str], place: int) -> int:
    """Where the block that a line begins ends, in front of blank lines."""
    indent, inner = _indent(lines[place]), enumerate(lines[place + 1 :], place + 1)
    stop = next((number for number, line in inner if line.strip() and _indent(line) <= indent), len(lines))
    while not lines[stop - 1].strip():
        stop -= 1
    return stop


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _in_functions(lines: list[str], place: int, function: re.Match[str]) -> Iterator[list[str]]:
    """A function that only returns what it is given, none that nobody calls, and the first one without what it does not
    use."""
    stop, inner = _end(lines, place), " " * (len(function[1]) + 4)
    if not _uses([*lines[:place], *lines[stop:]], function[2]) and function[2] != "main":
        yield [*lines[: place - 1], *dropwhile(lambda line: not line.strip(), lines[stop:])]
    if function[3] == "":
        yield from _called_itself(lines, place, stop, function[2])
    parameters = _PARAMETER.findall(function[3])
    captured = [name for name in _types(lines[:place]) if function[1] and _uses(lines[place + 1 : stop], name)]
    for parameter in parameters:
        name = parameter.partition(":")[0]
        for given in (name, f"{name}, {name}", *(f"{one}, {name}" for one in captured)):
            body = [f"{inner}return {given}"]
            if len(lines[place + 1 : stop]) > 1 or lines[place + 1 : stop] > body:
                yield [*lines[: place + 1], *body, *lines[stop:]]
        if function[2] == "main" and not _uses(lines[place + 1 : stop], name):
            others = ", ".join(other for other in parameters if other != parameter)
            yield [*lines[:place], f"{function[1]}def main({others}):", *lines[place + 1 :]]


def _called_itself(lines: list[str], place: int, stop: int, maker: str) -> Iterator[list[str]]:
    """A function in the place of the one that makes and returns it, where that is called for once."""
    inner = next((match for line in lines[place + 1 : stop] if (match := _FUNCTION.match(line))), None)
    called = next((match for line in lines if (match := re.match(rf" *(\w+) = (\w+\.{maker})\(\)$", line))), None)
    if inner is None or called is None:
        return
    first = lines.index(inner[0], place)
    body = [line[4:] for line in lines[first : _end(lines, first)]]
    body[0] = body[0].replace(f"def {inner[2]}(", f"def {maker}(")
    rest = (re.sub(rf"\b{called[1]}\(", f"{called[2]}(", line) for line in lines[stop:] if line != called[0])
    yield [*lines[:place], *body, *rest]


def _without_binding(lines: list[str], place: int, binding: re.Match[str]) -> Iterator[list[str]]:
    """Lines without a name that nothing uses, that is returned or named anew at once, or an item of it, or that is as
    good as another."""
    indent, name, value = binding.groups()
    before, after = lines[:place], lines[place + 1 :]
    if after and (given := re.match(rf"( *(?:return|\w+ =) ){name}(?:\[\d+\])?$", after[0])):
        yield [*before, f"{given[1]}{value}", *after[1:]]
    scope = next((n for n, line in enumerate(after) if line.strip() and _indent(line) < len(indent)), len(after))
    if not _uses(after[:scope], name):
        yield [*before, *after]
    if copied := _COPY.match(value):
        renamed = (re.sub(rf"\b{name}\b", copied[1], line) for line in after[:scope])
        yield [*before, *renamed, *after[scope:]]
    if alias := _ALIAS.match(value):
        yield [*before, *(re.sub(rf"\b{name}\b", alias[1], line) for line in after)]


def _untupled(lines: list[str]) -> Iterator[list[str]]:
    """Lines with one item of a tuple of which nothing else is used in its place, wherever it is made."""
    made = [(place, match) for place, line in enumerate(lines) if (match := _TUPLE.match(line))]
    for name in dict.fromkeys(match[2] for _, match in made):
        others = "\n".join(line for line in lines if not line.lstrip().startswith(f"{name} = "))
        taken = set(re.findall(rf"\b{name}\b(?:\[(\d+)\])?", others))
        if len(taken) == 1 and (place := taken.pop()):
            found = [re.sub(rf"\b{name}\[{place}\]", name, line) for line in lines]
            for number, match in made:
                if match[2] == name:
                    found[number] = f"{match[1]}{name} = {match[3].split(', ')[int(place)]}"
            yield found


def _types(lines: list[str]) -> dict[str, str]:
    """The types of the parameters of the function in which the lines end."""
    function = next((match for line in reversed(lines) if (match := _FUNCTION.match(line))), None)
    parameters = _PARAMETER.findall(function[3]) if function else []
    return dict(parameter.split(": ", 1) for parameter in parameters)


def _plainer(line: str, types: Mapping[str, str]) -> Iterator[str]:
    """A line with one item in place of a tuple, without an argument by name, or with one input for another of its type:
    what takes them may ask for more than TVM does."""
    _, _, value = line.partition(" = ") if " = " in line else line.partition("return ")
    start = line.removesuffix(value)
    found = re.fullmatch(r"\(?(\w+(?:, \w+)*),?\)?", value)
    if found is not None and "," in value:
        items = found[1].split(", ")
        yield from (f"{start}{item}" for item in items)
        yield start + ", ".join(items[:1] * len(items))
    if value.startswith("R."):
        for argument in _KEYWORD.finditer(line):
            yield line[: argument.start()] + line[argument.end() :]
        names = list(dict.fromkeys(re.findall(r"(?<=[(, ])[a-z]\w*(?=[,)])", value)))
        for other, name in combinations([name for name in names if name in types], 2):
            if types[name] == types[other]:
                yield start + re.sub(rf"\b{name}\b", other, value)


def _uses(lines: list[str], name: str) -> bool:
    return any(re.search(rf"\b{name}\b", line) for line in lines)
